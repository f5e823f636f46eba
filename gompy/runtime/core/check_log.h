/* The log of `gompy run --check`: what is mapped, copied, updated and removed, by whom, as records in a file that
   GOMPY_CHECK_LOG names.  gompy/check reads it when the program has ended.  Included once, by libgompy.pyx.

   A record is a struct gompy_record; `payload` bytes follow it, padded to 8.  Its numbers are those of
   gompy/abi/check_log.py.  */
#ifndef GOMPY_CHECK_LOG_H
#define GOMPY_CHECK_LOG_H

#include "gompy/native/check_log.h"
#include "gompy/native/clock.h"
#include "gompy/native/descriptors.h"
#include "gompy/native/file_size.h"
#include "gompy/native/process_mark.h"
#include "check_hash.h"
#include "check_tail.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
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
  uint32_t thread; /* counted from 1 in the order of their first records */
  uint32_t cut;    /* of the first one: the log has ended before the program */
};

#define GOMPY_LOG_MODE 0600  /* of its file; with S_ISVTX: it has ended before the program */
#define GOMPY_LOG_BUFFER (1u << 18)
#define GOMPY_LOG_LIMIT (1ull << 28)
#define GOMPY_SMALL_COPY 256u
#define GOMPY_DATA_LIMIT (4u << 20)
#define GOMPY_READ_NS 4000u  /* what the analysis of a record takes: it is of what checks take */

static int gompy_checking;
static int gompy_rests;           /* nothing is followed for now: check_rest.h */
static uint64_t gompy_stale_time; /* that checks have taken, nanoseconds */
static unsigned gompy_rest_share = 10;  /* percent of the program's time that they may take; GOMPY_CHECK_SHARE */
static uint64_t gompy_constructs, gompy_constructs_rested;  /* outermost ones; those of them that were not followed */
static struct gompy_written gompy_log_file;
static struct gompy_process_mark gompy_log_process;
static uint64_t gompy_log_written;
static size_t gompy_log_used;
static char *gompy_log_buffer;
static pthread_mutex_t gompy_log_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t gompy_log_threads;
static __thread uint32_t gompy_log_thread;

/* Whether there is a log, and it is this process's own.  */
static inline int
gompy_is_logging (void)
{
  return gompy_checking && gompy_is_marked (&gompy_log_process);
}

/* The log ends, and its reader is to know that: without room for another byte, at the greatest size, and where the
   program may write no file at all (RLIMIT_FSIZE of 0), when only the file's mode is left.  */
static void
gompy_log_is_cut (void)
{
  static const uint32_t cut = 1;
  struct stat s;
  int told = 0, fd = gompy_open (gompy_log_file.path, O_WRONLY, 0);  /* with O_APPEND pwrite would append */
  gompy_checking = 0;
  if (fd < 0)
    return;
  if (fstat (fd, &s) == 0 && s.st_size < (off_t) sizeof (struct gompy_record))
    told = gompy_resize (fd, 1) == 0;
  else
    told = gompy_pwrite (fd, &cut, sizeof cut, offsetof (struct gompy_record, cut)) == (ssize_t) sizeof cut;
  if (!told)
    (void) fchmod (fd, GOMPY_LOG_MODE | S_ISVTX);
  close (fd);
}

/* The lock is held.  */
static void
gompy_log_out (void)
{
  size_t done = 0;
  int fd = gompy_log_used ? gompy_fd_of_written (&gompy_log_file) : -1;
  while (done < gompy_log_used)
    {
      ssize_t n = gompy_write (fd, gompy_log_buffer + done, gompy_log_used - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        {
          int why = errno;  /* no room on the disk: what is there is told */
          gompy_log_is_cut ();
          errno = why;
          gompy_note ("the log of mappings and copies ends here: %s", n < 0 ? strerror (errno) : "nothing was written");
          break;
        }
      done += (size_t) n;
    }
  gompy_log_written += gompy_log_used;
  gompy_tail_is_written (gompy_log_used);
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

/* The calling thread's.  The lock is held.  */
static uint32_t
gompy_log_number (void)
{
  if (gompy_log_thread == 0)
    gompy_log_thread = ++gompy_log_threads;
  return gompy_log_thread;
}

static uint32_t
gompy_number_in_log (void)
{
  pthread_mutex_lock (&gompy_log_lock);
  uint32_t number = gompy_log_number ();
  pthread_mutex_unlock (&gompy_log_lock);
  return number;
}

/* Whether the program may end in what comes next without another word, or a finding is in the record, and what is not
   in the file then is lost.  */
static int
gompy_log_is_due (const struct gompy_record *e)
{
  if (gompy_log_tail != NULL)
    return 0;
  return e->op == GOMPY_EVENT_LAUNCH || e->op == GOMPY_EVENT_TEXT || e->op == GOMPY_EVENT_FLIGHT
         || e->op == GOMPY_EVENT_ABSENT || e->op == GOMPY_EVENT_BLOCK || (e->op == GOMPY_EVENT_STALE && e->kind != 0);
}

static int gompy_before_record (const struct gompy_record *e, const void *payload, size_t n);

/* Append a record with up to two pieces of payload; one without a thread is the calling one's.  */
static void
gompy_log2 (struct gompy_record *e, const void *first, size_t n, const void *second, size_t m)
{
  static const char zero[8];
  if (!gompy_is_logging () || gompy_before_record (e, first, n + m))
    return;
  pthread_mutex_lock (&gompy_log_lock);
  if (gompy_log_written > GOMPY_LOG_LIMIT && e->op != GOMPY_EVENT_TEXT)
    {
      if (gompy_log_written != UINT64_MAX >> 1)
        {
          struct gompy_record full = { .op = GOMPY_EVENT_FULL };
          gompy_log_bytes (&full, sizeof full);
          gompy_log_out ();
          gompy_log_written = UINT64_MAX >> 1;
        }
      pthread_mutex_unlock (&gompy_log_lock);
      return;
    }
  e->payload = (uint32_t) (n + m);
  if (e->thread == 0)
    e->thread = gompy_log_number ();
  gompy_log_bytes (e, sizeof *e);
  gompy_log_bytes (first, n);
  gompy_log_bytes (second, m);
  gompy_log_bytes (zero, -(n + m) & 7);
  gompy_stale_time += GOMPY_READ_NS;
  gompy_tail_has (gompy_log_used);
  if (gompy_log_is_due (e))
    gompy_log_out ();
  pthread_mutex_unlock (&gompy_log_lock);
}

/* Whoever reads the log while the program runs finds what happened so far.  */
static void
gompy_log_flush (void)
{
  if (!gompy_is_logging ())
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
gompy_log_text (uint32_t thread, const char *text, size_t n)
{
  struct gompy_record e = { .op = GOMPY_EVENT_TEXT, .device = -1, .thread = thread };
  gompy_log2 (&e, text, n, NULL, 0);
}

/* In records of whole lines: a process may have any number of mappings.  */
static void
gompy_log_maps (void)
{
  static char text[1 << 16];
  int fd = gompy_open ("/proc/self/maps", O_RDONLY, 0);
  size_t have = 0, whole;
  ssize_t n;
  if (fd < 0)
    return;
  do
    {
      struct gompy_record e = { GOMPY_EVENT_MAPS, 0, -1, 0, 0, 0, 0, 0, 0, 0, "" };
      n = read (fd, text + have, sizeof text - have);
      have += n > 0 ? (size_t) n : 0;
      if (n > 0 && have < sizeof text)
        continue;
      for (whole = have; n > 0 && whole > 0 && text[whole - 1] != '\n'; whole--)
        ;
      gompy_log2 (&e, text, whole, NULL, 0);
      memmove (text, text + whole, have - whole);
      have -= whole;
    }
  while (n > 0 && have < sizeof text);
  close (fd);
}

struct gompy_closed
{
  uintptr_t within;
  char *path;
  struct gompy_record e;
};

static int
gompy_find_closed (struct dl_phdr_info *info, size_t size, void *data)
{
  struct gompy_closed *c = data;
  uintptr_t begin = 0, end = 0;
  int found = 0;
  (void) size;
  for (int i = 0; i < info->dlpi_phnum; i++)
    {
      const ElfW (Phdr) *p = &info->dlpi_phdr[i];
      if (p->p_type != PT_LOAD)
        continue;
      found |= c->within - info->dlpi_addr - p->p_vaddr < p->p_memsz;
      begin = end == 0 ? p->p_vaddr & -4096ul : begin;  /* they are in order */
      end = p->p_vaddr + p->p_memsz;
    }
  if (!found)
    return 0;
  c->path = info->dlpi_name[0] ? realpath (info->dlpi_name, NULL) : NULL;  /* empty: the program, which stays */
  c->e.start = info->dlpi_addr + begin;
  c->e.size = end - begin;
  return 1;
}

/* The library that an address is in is about to go: at the end of the program nothing tells any more where it was.  */
static void
gompy_log_closed (const void *within)
{
  struct gompy_closed c = { (uintptr_t) within, NULL, { .op = GOMPY_EVENT_CLOSED, .device = -1 } };
  if (gompy_is_logging () && dl_iterate_phdr (gompy_find_closed, &c) && c.path != NULL)
    gompy_log2 (&c.e, c.path, strlen (c.path), NULL, 0);
  free (c.path);
}

static void gompy_log_rests (void);

#include "check_frames.h"
#include "check_unwritten.h"

/* --- copies ------------------------------------------------------------------------------------------------------- */

/* What the calling thread has hashed in this construct, about to copy it to a device.  */
#define GOMPY_HASHED 32u
#define GOMPY_HASHED_PARTS 8192u
static __thread struct gompy_hashed
{
  uintptr_t start;
  size_t size;
  uint64_t hash;
  const uint64_t *parts;  /* of its parts, or NULL */
} gompy_hasheds[GOMPY_HASHED];
static __thread unsigned gompy_hashed_count, gompy_hashed_parts;

static void
gompy_forget_hashed (void)
{
  gompy_hashed_count = gompy_hashed_parts = 0;
}

static const struct gompy_hashed *
gompy_find_hashed (uintptr_t start, size_t size)
{
  for (unsigned i = gompy_hashed_count; i-- > 0;)
    if (gompy_hasheds[i].start == start && gompy_hasheds[i].size == size)
      return &gompy_hasheds[i];
  return NULL;
}

/* Where the calling thread has the hashes of a copy's parts; NULL: there is no room, or they are not worth it.  */
static uint64_t *
gompy_hashes_of_parts (size_t size)
{
  static __thread uint64_t *room;
  size_t count = gompy_count_parts (size);
  if (gompy_hashed_count == GOMPY_HASHED || gompy_hashed_parts + count > GOMPY_HASHED_PARTS)
    gompy_forget_hashed ();
  if (size < GOMPY_HASH_PART || count > GOMPY_HASHED_PARTS)
    return NULL;
  if (room == NULL && (room = gompy_check_room (GOMPY_HASHED_PARTS * sizeof *room)) == NULL)
    return NULL;
  gompy_hashed_parts += (unsigned) count;
  return room + gompy_hashed_parts - count;
}

static uint64_t
gompy_hash_copy (uintptr_t start, size_t size)
{
  uint64_t *parts = gompy_hashes_of_parts (size), hash = gompy_hash_noted (start, size, parts);
  gompy_hasheds[gompy_hashed_count++] = (struct gompy_hashed){ start, size, hash, parts };
  return hash;
}

/* A copy of a mapped range; flags: GOMPY_LOGGED_TO_DEVICE or 0.  BEFORE: of one from the device, what the host had
   hashed to; 0: both sides were compared.  */
static void
gompy_log_copy (int device, int kind, const char *what, const void *where, uintptr_t start, size_t size,
                uintptr_t address, unsigned flags, uint64_t before)
{
  uint64_t begin = gompy_now (), hash;
  if (gompy_rests)
    hash = flags & GOMPY_LOGGED_TO_DEVICE ? begin : 0;  /* differs from others */
  else
    {
      hash = flags & GOMPY_LOGGED_TO_DEVICE ? gompy_hash_copy (start, size)
             : before ? gompy_hash ((const void *) start, size) : 0;
      gompy_stale_time += gompy_now () - begin;
    }
  if (!(flags & GOMPY_LOGGED_TO_DEVICE) && before && hash == before)
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
  int fd;
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
  fd = gompy_open (path, O_WRONLY | O_APPEND | O_CREAT, GOMPY_LOG_MODE);
  gompy_log_tail = fd >= 0 ? gompy_open_tail (path, fd, GOMPY_LOG_BUFFER) : NULL;
  gompy_log_buffer = gompy_log_tail != NULL ? gompy_tail_bytes (gompy_log_tail) : malloc (GOMPY_LOG_BUFFER);
  if (!gompy_begin_written (&gompy_log_file, path, fd, O_WRONLY | O_APPEND) || gompy_log_buffer == NULL)
    {
      fprintf (stderr, "libgompy: GOMPY_CHECK_LOG=%s: cannot be written: %s\n", path, strerror (errno));
      return;
    }
  gompy_mark_process (&gompy_log_process);
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
  if (!gompy_is_logging ())
    return;
  if (gompy_constructs_rested)
    gompy_log_rests ();
  dl_iterate_phdr (gompy_log_data, NULL);
  gompy_log_maps ();
  pthread_mutex_lock (&gompy_log_lock);
  gompy_log_out ();
  gompy_checking = 0;
  pthread_mutex_unlock (&gompy_log_lock);
}

#endif
