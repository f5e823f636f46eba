/* The log of `gompy run --check`: what is mapped, copied, updated and removed, by whom, as records in a file that
   GOMPY_CHECK_LOG names.  gompy/check reads it when the program has ended.  Included once, by libgompy.pyx.

   A record is a struct gompy_record; `payload` bytes follow it, padded to 8.  Its numbers are those of
   gompy/abi/check_log.py.  */
#ifndef GOMPY_CHECK_LOG_H
#define GOMPY_CHECK_LOG_H

#include "gompy/native/check_log.h"
#include "gompy/native/descriptors.h"
#include "gompy/native/file_size.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unwind.h>

struct gompy_record
{
  uint16_t op;
  uint16_t kind;
  int32_t device;
  uint32_t payload;
  uint32_t flags;
  uint64_t where;
  uint64_t start;
  uint64_t size;
  uint64_t address;
  uint64_t count;
  char what[32];
};

#define GOMPY_LOG_BUFFER (1u << 18)
#define GOMPY_LOG_LIMIT (1ull << 28)
#define GOMPY_FRAME_STACK 4096u
/* Of a frame of code within `parallel`: structures of the enclosing frames, in which gcc hands on what is shared.
   Their number, their bytes, how far above the frame they are, and how far below the end of the first thread's
   stack.  */
#define GOMPY_BEHIND 8u
#define GOMPY_BEHIND_SIZE 128u
#define GOMPY_BEHIND_NEAR (1u << 16)
#define GOMPY_BEHIND_MAIN (1u << 20)
#define GOMPY_SMALL_COPY 256u
#define GOMPY_DATA_LIMIT (4u << 20)

static int gompy_checking;
static int gompy_log_fd = -1;
static pid_t gompy_log_pid;
static uint64_t gompy_log_written;
static size_t gompy_log_used;
static char *gompy_log_buffer;
static pthread_mutex_t gompy_log_lock = PTHREAD_MUTEX_INITIALIZER;

/* The lock is held.  */
static void
gompy_log_out (void)
{
  size_t done = 0;
  while (done < gompy_log_used)
    {
      ssize_t n = gompy_write (gompy_log_fd, gompy_log_buffer + done, gompy_log_used - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          gompy_checking = 0;  /* no room on the disk: what is there is told */
          gompy_note ("the log of mappings and copies ends here: %s", n < 0 ? strerror (errno) : "nothing was written");
          break;
        }
      done += (size_t) n;
    }
  gompy_log_written += gompy_log_used;
  gompy_log_used = 0;
}

static void
gompy_log_bytes (const void *p, size_t n)
{
  while (n)
    {
      size_t room = GOMPY_LOG_BUFFER - gompy_log_used, part = n < room ? n : room;
      memcpy (gompy_log_buffer + gompy_log_used, p, part);
      gompy_log_used += part;
      p = (const char *) p + part;
      n -= part;
      if (gompy_log_used == GOMPY_LOG_BUFFER)
        gompy_log_out ();
    }
}

/* Append a record with up to two pieces of payload.  */
static void
gompy_log2 (struct gompy_record *e, const void *first, size_t n, const void *second, size_t m)
{
  static const char zero[8];
  if (!gompy_checking || gompy_log_pid != getpid ())
    return;
  pthread_mutex_lock (&gompy_log_lock);
  if (gompy_log_written > GOMPY_LOG_LIMIT && e->op != GOMPY_EVENT_TEXT)
    {
      if (gompy_log_written != UINT64_MAX >> 1)
        {
          struct gompy_record full = { GOMPY_EVENT_FULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, "" };
          gompy_log_bytes (&full, sizeof full);
          gompy_log_out ();
          gompy_log_written = UINT64_MAX >> 1;
        }
      pthread_mutex_unlock (&gompy_log_lock);
      return;
    }
  e->payload = (uint32_t) (n + m);
  gompy_log_bytes (e, sizeof *e);
  gompy_log_bytes (first, n);
  gompy_log_bytes (second, m);
  gompy_log_bytes (zero, -(n + m) & 7);
  if (e->op == GOMPY_EVENT_LAUNCH || e->op == GOMPY_EVENT_TEXT)
    gompy_log_out ();  /* the program may end in what comes next */
  pthread_mutex_unlock (&gompy_log_lock);
}

/* Whoever reads the log while the program runs finds what happened so far.  */
static void
gompy_log_flush (void)
{
  if (!gompy_checking || gompy_log_pid != getpid ())
    return;
  pthread_mutex_lock (&gompy_log_lock);
  gompy_log_out ();
  pthread_mutex_unlock (&gompy_log_lock);
}

static void
gompy_log (int op, int kind, int device, const char *what, const void *where, uintptr_t start, size_t size,
           uintptr_t address, uint64_t count, unsigned flags)
{
  struct gompy_record e
    = { (uint16_t) op, (uint16_t) kind, device, 0, flags, (uintptr_t) where, start, size, address, count, "" };
  if (what != NULL)
    strncpy (e.what, what, sizeof e.what - 1);
  gompy_log2 (&e, NULL, 0, NULL, 0);
}

/* An entry that the program's compiler has a name for; empty: none.  */
static void
gompy_log_named (int op, int kind, int device, uintptr_t start, size_t size, uintptr_t address, uint64_t count,
                 unsigned flags, const char *what, const char *name)
{
  struct gompy_record e
    = { (uint16_t) op, (uint16_t) kind, device, 0, flags, 0, start, size, address, count, "" };
  strncpy (e.what, what, sizeof e.what - 1);
  gompy_log2 (&e, name, strlen (name), NULL, 0);
}

static void
gompy_log_text (const char *text, size_t n)
{
  struct gompy_record e = { GOMPY_EVENT_TEXT, 0, -1, 0, 0, 0, 0, 0, 0, 0, "" };
  gompy_log2 (&e, text, n, NULL, 0);
}

static void
gompy_log_maps (void)
{
  static char text[1 << 16];
  struct gompy_record e = { GOMPY_EVENT_MAPS, 0, -1, 0, 0, 0, 0, 0, 0, 0, "" };
  int fd = gompy_open ("/proc/self/maps", O_RDONLY, 0);
  size_t have = 0;
  ssize_t n;
  if (fd < 0)
    return;
  while (have < sizeof text && (n = read (fd, text + have, sizeof text - have)) > 0)
    have += (size_t) n;
  close (fd);
  gompy_log2 (&e, text, have, NULL, 0);
}

/* --- the program's frame ------------------------------------------------------------------------------------------ */

typedef _Unwind_Reason_Code (*gompy_backtrace_fn) (_Unwind_Trace_Fn, void *);
typedef _Unwind_Word (*gompy_get_fn) (struct _Unwind_Context *);
typedef _Unwind_Word (*gompy_get_gr_fn) (struct _Unwind_Context *, int);

static gompy_backtrace_fn gompy_backtrace;
static gompy_get_fn gompy_get_ip, gompy_get_cfa;
static gompy_get_gr_fn gompy_get_gr;

struct gompy_own_object { uintptr_t start, end; };
static struct gompy_own_object gompy_own;

static int
gompy_find_own (struct dl_phdr_info *info, size_t size, void *data)
{
  uintptr_t inside = (uintptr_t) data;
  (void) size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      if (info->dlpi_phdr[i].p_type == PT_LOAD && inside - start < info->dlpi_phdr[i].p_memsz
          && (info->dlpi_phdr[i].p_flags & PF_X))
        {
          gompy_own.start = start;
          gompy_own.end = start + info->dlpi_phdr[i].p_memsz;
          return 1;
        }
    }
  return 0;
}

struct gompy_frame
{
  uint64_t pc, sp, cfa, registers[16];
  uint64_t fault;  /* the instruction that has failed: its frame, or the first of the program's above it, is wanted */
  int passed;      /* that has been met */
};

/* The program's code, without its libraries'.  */
static struct gompy_own_object gompy_program_code;

static int
gompy_find_program (struct dl_phdr_info *info, size_t size, void *data)
{
  (void) size;
  (void) data;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
      {
        gompy_program_code.start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        gompy_program_code.end = gompy_program_code.start + info->dlpi_phdr[i].p_memsz;
      }
  return 1;
}

/* Whether a frame is not the one that is asked for.  */
static int
gompy_is_other_frame (struct gompy_frame *f, uint64_t ip)
{
  if (f->fault == 0)
    return ip - gompy_own.start < gompy_own.end - gompy_own.start;
  f->passed |= ip == f->fault;
  return !f->passed || ip - gompy_program_code.start >= gompy_program_code.end - gompy_program_code.start;
}

static _Unwind_Reason_Code
gompy_frame_step (struct _Unwind_Context *context, void *data)
{
  static const int kept[] = { 3, 6, 12, 13, 14, 15 };  /* rbx, rbp, r12 to r15, by their DWARF numbers */
  struct gompy_frame *f = data;
  uint64_t ip = gompy_get_ip (context);
  if (f->pc)
    {
      f->cfa = gompy_get_cfa (context);
      return _URC_NORMAL_STOP;
    }
  if (gompy_is_other_frame (f, ip))
    return _URC_NO_REASON;
  f->pc = ip;
  f->sp = gompy_get_cfa (context);
  for (unsigned i = 0; i < sizeof kept / sizeof kept[0]; i++)
    f->registers[kept[i]] = gompy_get_gr (context, kept[i]);
  return _URC_NO_REASON;
}

static uint64_t gompy_hash (const void *, size_t);

extern void *__libc_stack_end;

/* Whether a word may be the address of something in an enclosing frame, of this thread or of the first.  */
static int
gompy_is_enclosing (const struct gompy_frame *f, uint64_t word)
{
  return word % 8 == 0
    && (word - f->cfa < GOMPY_BEHIND_NEAR
	|| (uintptr_t) __libc_stack_end - word - 1 < GOMPY_BEHIND_MAIN)
    && word - f->sp >= f->cfa - f->sp;
}

/* Note what is at an address, unless the log has it already.  */
static void
gompy_log_once (uint64_t at, const void *bytes, size_t n)
{
  static struct { uint64_t at, hash; } noted[64];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct gompy_record e = { GOMPY_EVENT_BEHIND, 0, -1, 0, 0, 0, at, 0, 0, 0, "" };
  uint64_t hash = gompy_hash (bytes, n);
  unsigned place = (unsigned) (at / 8 % 64);
  pthread_mutex_lock (&lock);
  if (noted[place].at != at || noted[place].hash != hash)
    {
      noted[place].at = at;
      noted[place].hash = hash;
      gompy_log2 (&e, bytes, n, NULL, 0);
    }
  pthread_mutex_unlock (&lock);
}

/* Note what the words of a frame point to in the enclosing ones.  */
static void
gompy_log_behind (const struct gompy_frame *f, size_t stack)
{
  uint64_t seen[GOMPY_BEHIND], bytes[GOMPY_BEHIND_SIZE / 8];
  unsigned known = 0, j;
  if (gompy_log_pid != getpid ())
    return;  /* a forked child: the lock may be anybody's */
  for (size_t i = 0; i < 16 + stack / 8 && known < GOMPY_BEHIND; i++)
    {
      uint64_t word = i < 16 ? f->registers[i] : ((const uint64_t *) f->sp)[i - 16];
      if (!gompy_is_enclosing (f, word))
	continue;
      for (j = 0; j < known && seen[j] != word; j++)
	;
      if (j < known)
	continue;
      seen[known++] = word;
      struct iovec to = { bytes, sizeof bytes }, from = { (void *) word, sizeof bytes };
      long n = syscall (SYS_process_vm_readv, (long) getpid (), &to, 1L, &from, 1L, 0L);
      if (n > 0)
	gompy_log_once (word, bytes, (size_t) n);
    }
}

/* Find a frame of the program's; how much of its stack is noted, or 0.  */
static size_t
gompy_find_frame (struct gompy_frame *f)
{
  if (!gompy_checking || gompy_backtrace == NULL)
    return 0;
  gompy_backtrace (gompy_frame_step, f);
  if (f->pc == 0 || f->cfa <= f->sp)
    return 0;
  size_t n = f->cfa - f->sp;
  return n < GOMPY_FRAME_STACK ? n : GOMPY_FRAME_STACK;
}

static void
gompy_log_one_frame (const struct gompy_frame *f, const void *stack, size_t n)
{
  struct gompy_record e = { GOMPY_EVENT_FRAME, 0, -1, 0, 0, f->pc, f->sp, f->cfa, 0, 0, "" };
  gompy_log2 (&e, f->registers, sizeof f->registers, stack, n);
}

/* Note a frame of the program's; its place in the code, or 0.  */
static uint64_t
gompy_log_found_frame (struct gompy_frame *f)
{
  size_t n = gompy_find_frame (f);
  if (n == 0)
    return 0;
  gompy_log_behind (f, n);
  gompy_log_one_frame (f, (void *) f->sp, n);
  return f->pc;
}

/* A frame as it was when a construct was deferred: its function may have returned when that runs.  */
struct gompy_frame_then
{
  struct gompy_frame frame;
  size_t size;
  char stack[];
};

/* That of the deferred construct which this thread runs, or NULL.  */
static __thread const struct gompy_frame_then *gompy_frame_deferred;

/* Keep the program's frame that calls this library now, for free (); NULL: it is not wanted, or cannot be had.  */
static void *
gompy_keep_frame (void)
{
  struct gompy_frame f;
  struct gompy_frame_then *then;
  memset (&f, 0, sizeof f);
  size_t n = gompy_find_frame (&f);
  if (n == 0 || (then = malloc (sizeof *then + n)) == NULL)
    return NULL;
  then->frame = f;
  then->size = n;
  memcpy (then->stack, (void *) f.sp, n);
  gompy_log_behind (&f, n);
  return then;
}

/* What this thread does next is of a construct that was deferred with that frame.  NULL: of none.  */
static void
gompy_in_frame (const void *kept)
{
  gompy_frame_deferred = kept;
}

/* Note the program's frame that calls this library now, or that has deferred what it does now.  */
static void
gompy_log_frame (void)
{
  struct gompy_frame f;
  if (gompy_frame_deferred != NULL)
    {
      const struct gompy_frame_then *then = gompy_frame_deferred;
      gompy_log_one_frame (&then->frame, then->stack, then->size);
      return;
    }
  memset (&f, 0, sizeof f);
  gompy_log_found_frame (&f);
}

/* In the handler of a fault: note the frame of the program's that has failed, or has called the library that has.
   Its place in the code.  */
static uintptr_t
gompy_log_fault (uintptr_t pc)
{
  struct gompy_frame f;
  memset (&f, 0, sizeof f);
  f.fault = pc;
  dl_iterate_phdr (gompy_find_program, NULL);
  if (gompy_log_found_frame (&f) == 0)
    return pc;
  return f.pc == pc ? pc : f.pc - 1;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

#define GOMPY_HASH_LANES 8u
#define GOMPY_HASH_FACTOR 0xff51afd7ed558ccdull

static inline uint64_t
gompy_hash_word (uint64_t h, uint64_t word)
{
  h = (h ^ word) * GOMPY_HASH_FACTOR;
  return h ^ h >> 32;
}

/* What contents hash to: only for telling that they are as they were.  The lanes are independent, as a multiplication
   waits for the one before it.  */
static __attribute__ ((optimize ("O3"))) uint64_t
gompy_hash (const void *p, size_t n)
{
  const unsigned char *at = p;
  uint64_t h = 0x9E3779B97F4A7C15ull ^ n, lanes[GOMPY_HASH_LANES], words[GOMPY_HASH_LANES];
  if (n >= sizeof words)
    {
      for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
        lanes[i] = h + i;
      for (; n >= sizeof words; n -= sizeof words, at += sizeof words)
        {
          memcpy (words, at, sizeof words);
          for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
            lanes[i] = gompy_hash_word (lanes[i], words[i]);
        }
      for (unsigned i = 0; i < GOMPY_HASH_LANES; i++)
        h = gompy_hash_word (h, lanes[i]);
    }
  for (; n >= 8; n -= 8, at += 8)
    {
      memcpy (words, at, 8);
      h = gompy_hash_word (h, words[0]);
    }
  for (; n; n--, at++)
    h = (h ^ *at) * GOMPY_HASH_FACTOR;
  return h ^ h >> 29;
}

/* What the calling thread has hashed last, about to copy it to a device.  */
static __thread struct
{
  uintptr_t start;
  size_t size;
  uint64_t hash;
} gompy_hashed;

/* A copy of a mapped range; flags: GOMPY_LOGGED_TO_DEVICE or 0.  */
static void
gompy_log_copy (int device, int kind, const char *what, const void *where, uintptr_t start, size_t size,
                uintptr_t address, unsigned flags, uint64_t before)
{
  uint64_t hash = gompy_hash ((const void *) start, size);
  gompy_hashed.start = start;
  gompy_hashed.size = flags & GOMPY_LOGGED_TO_DEVICE ? size : 0;
  gompy_hashed.hash = hash;
  if (!(flags & GOMPY_LOGGED_TO_DEVICE) && hash == before)
    flags |= GOMPY_LOGGED_SAME;
  struct gompy_record e
    = { GOMPY_EVENT_COPY, (uint16_t) kind, device, 0, flags, (uintptr_t) where, start, size, address, hash, "" };
  if (what != NULL)
    strncpy (e.what, what, sizeof e.what - 1);
  gompy_log2 (&e, (const void *) start, flags & GOMPY_LOGGED_TO_DEVICE && size <= GOMPY_SMALL_COPY ? size : 0, NULL, 0);
}

/* --- begin and end ------------------------------------------------------------------------------------------------ */

static void
gompy_begin_checks (const char *path)
{
  void *gcc = dlopen ("libgcc_s.so.1", RTLD_LAZY);
  if (gcc != NULL)
    {
      gompy_backtrace = (gompy_backtrace_fn) dlsym (gcc, "_Unwind_Backtrace");
      gompy_get_ip = (gompy_get_fn) dlsym (gcc, "_Unwind_GetIP");
      gompy_get_cfa = (gompy_get_fn) dlsym (gcc, "_Unwind_GetCFA");
      gompy_get_gr = (gompy_get_gr_fn) dlsym (gcc, "_Unwind_GetGR");
      if (gompy_get_ip == NULL || gompy_get_cfa == NULL || gompy_get_gr == NULL)
        gompy_backtrace = NULL;
    }
  dl_iterate_phdr (gompy_find_own, (void *) (uintptr_t) gompy_log_frame);
  gompy_log_fd = gompy_open (path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  gompy_log_buffer = malloc (GOMPY_LOG_BUFFER);
  if (gompy_log_fd < 0 || gompy_log_buffer == NULL)
    {
      fprintf (stderr, "libgompy: GOMPY_CHECK_LOG=%s: cannot be written: %s\n", path, strerror (errno));
      return;
    }
  gompy_log_pid = getpid ();
  gompy_checking = 1;
}

/* Whether an address is in this library's code.  */
static int
gompy_is_own_code (uintptr_t pc)
{
  return pc - gompy_own.start < gompy_own.end - gompy_own.start;
}

static int
gompy_log_data (struct dl_phdr_info *info, size_t size, void *data)
{
  (void) size;
  (void) data;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *p = &info->dlpi_phdr[i];
      if (p->p_type == PT_LOAD && p->p_flags & PF_W)
        {
          struct gompy_record e
            = { GOMPY_EVENT_DATA, 0, -1, 0, 0, 0, info->dlpi_addr + p->p_vaddr, p->p_memsz, 0, 0, "" };
          gompy_log2 (&e, (void *) e.start, e.size < GOMPY_DATA_LIMIT ? e.size : GOMPY_DATA_LIMIT, NULL, 0);
        }
    }
  return 1;  /* the program, which comes first */
}

/* The program ends, or is about to.  */
static void
gompy_end_checks (void)
{
  if (!gompy_checking || gompy_log_pid != getpid ())
    return;
  dl_iterate_phdr (gompy_log_data, NULL);
  gompy_log_maps ();
  pthread_mutex_lock (&gompy_log_lock);
  gompy_log_out ();
  gompy_checking = 0;
  pthread_mutex_unlock (&gompy_log_lock);
}

#endif
