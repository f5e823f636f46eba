/* The log of `gompy run --check`: the program's frame that calls the runtime, by which the analysis finds the names of
   what a construct has.

   A frame is noted once for a construct, as the program does nothing meanwhile.  Where the thread has noted it before,
   most of it is as it was then: only words that have changed come to the log.  Included once, by check_log.h.  */
#ifndef GOMPY_CHECK_FRAMES_H
#define GOMPY_CHECK_FRAMES_H

#define GOMPY_FRAME_STACK 4096u
/* Bytes of its caller's besides, of the first thread's stack: what that has kept there of what it handed on.  */
#define GOMPY_FRAME_CALLER 128u
/* Of a frame of code within `parallel`: structures of the enclosing frames, in which gcc hands on what is shared.
   Their number, their bytes, how far above the frame they are, and how far below the end of the first thread's
   stack.  */
#define GOMPY_BEHIND 8u
#define GOMPY_BEHIND_SIZE 128u
#define GOMPY_BEHIND_NEAR (1u << 16)
#define GOMPY_BEHIND_MAIN (1u << 20)
#define GOMPY_MAIN_STACK (8ul << 20) /* nothing else is mapped so far below the first thread's stack's end */

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

/* Registers that calls keep, in the order of the log.  */
static const int gompy_kept_registers[]
  = { GOMPY_REGISTER_RBX, GOMPY_REGISTER_RBP, GOMPY_REGISTER_R12, GOMPY_REGISTER_R13, GOMPY_REGISTER_R14,
      GOMPY_REGISTER_R15 };
#define GOMPY_KEPT_REGISTERS (sizeof gompy_kept_registers / sizeof gompy_kept_registers[0])

struct gompy_frame
{
  uint64_t pc, sp, cfa, caller, caller_cfa;  /* where its caller goes on */
  uint64_t registers[2][GOMPY_KEPT_REGISTERS];  /* its own, and its caller's */
  uint64_t fault;  /* the instruction that has failed: its frame, or the first of the program's above it, is wanted */
  int passed;      /* that has been met */
  uint64_t call;   /* or 0: in that call of the program's; below may be plugins' frames, and this library's again */
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
  if (f->call)
    return ip - 1 != f->call;
  if (f->fault == 0)
    return ip - gompy_own.start < gompy_own.end - gompy_own.start;
  f->passed |= ip == f->fault;
  return !f->passed || ip - gompy_program_code.start >= gompy_program_code.end - gompy_program_code.start;
}

static void
gompy_take_registers (struct _Unwind_Context *context, uint64_t *registers)
{
  for (unsigned i = 0; i < GOMPY_KEPT_REGISTERS; i++)
    registers[i] = gompy_get_gr (context, gompy_kept_registers[i]);
}

static _Unwind_Reason_Code
gompy_frame_step (struct _Unwind_Context *context, void *data)
{
  struct gompy_frame *f = data;
  uint64_t ip = gompy_get_ip (context);
  if (f->caller)
    {
      f->caller_cfa = gompy_get_cfa (context);
      return _URC_NORMAL_STOP;
    }
  if (f->pc)
    {
      f->cfa = gompy_get_cfa (context);
      f->caller = ip;
      gompy_take_registers (context, f->registers[1]);
      return ip ? _URC_NO_REASON : _URC_NORMAL_STOP;
    }
  if (gompy_is_other_frame (f, ip))
    return _URC_NO_REASON;
  f->pc = ip;
  f->sp = gompy_get_cfa (context);
  gompy_take_registers (context, f->registers[0]);
  return _URC_NO_REASON;
}

extern void *__libc_stack_end;

/* Where the first thread's stack ends for sure: behind its frames are the program's arguments and environment, with the
   name of its file last.  */
static uintptr_t
gompy_main_end (void)
{
  static uintptr_t known;
  uintptr_t last, end = (uintptr_t) __libc_stack_end;
  if (known == 0)
    {
      last = getauxval (AT_EXECFN);
      known = last - end < GOMPY_MAIN_STACK ? last : end;
    }
  return known;
}

/* Whether the caller is the first thread.  */
static int
gompy_is_on_main (void)
{
  return (uintptr_t) __libc_stack_end - (uintptr_t) __builtin_frame_address (0) < GOMPY_MAIN_STACK;
}

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

/* Note what the words of a frame point to in the enclosing ones; of its stack are NOTED bytes.  */
static void
gompy_log_behind (const struct gompy_frame *f, size_t noted)
{
  size_t stack = noted < f->cfa - f->sp ? noted : f->cfa - f->sp;
  uint64_t seen[GOMPY_BEHIND], bytes[GOMPY_BEHIND_SIZE / 8];
  unsigned known = 0, j;
  uintptr_t main_end = gompy_main_end ();
  int on_main = gompy_is_on_main ();
  if (!gompy_is_logging ())
    return;  /* a forked child: the lock may be anybody's */
  for (size_t i = 0; i < GOMPY_KEPT_REGISTERS + stack / 8 && known < GOMPY_BEHIND; i++)
    {
      uint64_t word = i < GOMPY_KEPT_REGISTERS ? f->registers[0][i]
					       : ((const uint64_t *) f->sp)[i - GOMPY_KEPT_REGISTERS];
      if (!gompy_is_enclosing (f, word))
	continue;
      for (j = 0; j < known && seen[j] != word; j++)
	;
      if (j < known)
	continue;
      seen[known++] = word;
      if (on_main && word >= f->sp && word + sizeof bytes <= main_end)
	{
	  memcpy (bytes, (const void *) word, sizeof bytes);  /* all of the stack is there */
	  gompy_log_once (word, bytes, sizeof bytes);
	  continue;
	}
      struct iovec to = { bytes, sizeof bytes }, from = { (void *) word, sizeof bytes };
      long n = syscall (SYS_process_vm_readv, (long) gompy_log_process.pid, &to, 1L, &from, 1L, 0L);
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
  if (gompy_is_on_main () && f->cfa + GOMPY_FRAME_CALLER <= gompy_main_end ())
    n += GOMPY_FRAME_CALLER;
  return n < GOMPY_FRAME_STACK ? n : GOMPY_FRAME_STACK;
}

/* What some threads have noted last.  */
#define GOMPY_FRAMES_KEPT 16u
#define GOMPY_FRAME_WORDS (GOMPY_FRAME_STACK / 8 + 2 * GOMPY_KEPT_REGISTERS)
static struct gompy_frame_kept
{
  uint32_t thread;
  size_t size;
  uint64_t words[GOMPY_FRAME_WORDS];  /* registers, then the stack */
} *gompy_frames_kept;

struct gompy_frame_change { uint64_t at, word; };
#define GOMPY_FRAME_CHANGES 64u

static void *gompy_check_room (size_t size);

/* Keep WORDS as a thread's next ones.  How many of them have changed since its last ones, and these; -1: that is not
   known, or too many have.  */
static int
gompy_keep_words (struct gompy_frame_kept *kept, uint32_t thread, const uint64_t *words, size_t size,
                  struct gompy_frame_change *changes)
{
  int known = kept->thread == thread && kept->size == size, count = 0;
  for (size_t i = 0; known && i < size / 8; i++)
    if (kept->words[i] != words[i] && count < (int) GOMPY_FRAME_CHANGES)
      changes[count++] = (struct gompy_frame_change){ 8 * i, words[i] };
  kept->thread = thread;
  kept->size = size;
  memcpy (kept->words, words, size);
  return known && count < (int) GOMPY_FRAME_CHANGES && count * sizeof *changes < size ? count : -1;
}

static void
gompy_log_frame_of (uint32_t thread, const struct gompy_frame *f, const void *stack, size_t n)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct gompy_record e = { GOMPY_EVENT_FRAME, 0, -1, 0, (uint32_t) gompy_log_process.pid, f->pc, f->sp, f->cfa,
                            f->caller, f->caller_cfa, "" };
  struct gompy_frame_change changes[GOMPY_FRAME_CHANGES];
  uint64_t words[GOMPY_FRAME_WORDS];
  int count = -1;
  e.thread = thread;
  memcpy (words, f->registers, sizeof f->registers);
  memcpy ((char *) words + sizeof f->registers, stack, n);
  pthread_mutex_lock (&lock);
  if (gompy_frames_kept == NULL)
    gompy_frames_kept = gompy_check_room (GOMPY_FRAMES_KEPT * sizeof *gompy_frames_kept);
  if (gompy_frames_kept != NULL && n % 8 == 0)
    count = gompy_keep_words (&gompy_frames_kept[thread % GOMPY_FRAMES_KEPT], thread, words, sizeof f->registers + n,
                              changes);
  e.kind = count >= 0;
  if (count >= 0)
    gompy_log2 (&e, changes, (size_t) count * sizeof *changes, NULL, 0);
  else
    gompy_log2 (&e, words, sizeof f->registers + n, NULL, 0);
  pthread_mutex_unlock (&lock);
}

/* Of the calling thread.  */
static void
gompy_log_one_frame (const struct gompy_frame *f, const void *stack, size_t n)
{
  static const struct gompy_record e = { .op = GOMPY_EVENT_FRAME };
  if (!gompy_is_logging ())
    return;  /* a forked child: the locks may be anybody's */
  gompy_before_record (&e, NULL, 1);
  gompy_log_frame_of (gompy_number_in_log (), f, stack, n);
}

static void gompy_say_withheld (void);

/* Note a frame of the program's; its place in the code, or 0.  */
static uint64_t
gompy_log_found_frame (struct gompy_frame *f)
{
  size_t n = gompy_find_frame (f);
  if (n == 0 || !gompy_is_logging ())
    return 0;
  gompy_say_withheld ();
  gompy_log_behind (f, n);
  gompy_log_one_frame (f, (void *) f->sp, n);
  return f->pc;
}

/* Of the thread: whether its frame is to be noted at each record, once, with the next record that does not wait, or
   stands in the log.  */
enum { GOMPY_FRAME_EACH, GOMPY_FRAME_ONCE, GOMPY_FRAME_DUE, GOMPY_FRAME_NOTED };
static __thread unsigned char gompy_frame_state;

/* A frame as it was when a construct was deferred: its function may have returned when that runs.  */
struct gompy_frame_then
{
  struct gompy_frame frame;
  size_t size;
  char stack[];
};

/* That of the deferred construct which this thread runs, or NULL.  */
static __thread const struct gompy_frame_then *gompy_frame_deferred;

/* This library reads the stack, which the program's own reads are told of: check_watch.h.  */
static void gompy_open_to_library (uintptr_t begin, uintptr_t end, int open);

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
  uintptr_t end = gompy_is_on_main () ? gompy_main_end () : f.sp + n;
  gompy_open_to_library (f.sp, end, 1);
  memcpy (then->stack, (void *) f.sp, n);
  gompy_log_behind (&f, n);
  gompy_open_to_library (f.sp, end, 0);
  return then;
}

/* What this thread does next is of a construct that was deferred with that frame.  NULL: of none.  */
static void
gompy_in_frame (const void *kept)
{
  gompy_frame_deferred = kept;
  gompy_frame_state = GOMPY_FRAME_EACH;
}

/* Whether the thread is in a construct all of whose records have its frame, which is not noted yet.  */
static int
gompy_frame_is_one (void)
{
  return gompy_frame_state == GOMPY_FRAME_ONCE && gompy_frame_deferred == NULL;
}

static void gompy_forget_hashed (void);

#include "check_withheld.h"
#include "check_again.h"

/* The program's code runs next, or has run until now; INSIDE: what comes is all of one construct; OUTERMOST: which
   begins, and is in no other; CALL: of the program's, for it.  */
static void
gompy_frame_changes (int inside, int outermost, uintptr_t call)
{
  gompy_forget_hashed ();
  if (!inside || outermost)
    gompy_withheld_ends (call);
  gompy_end_again (inside, outermost, call);
  gompy_frame_state = inside ? GOMPY_FRAME_ONCE : GOMPY_FRAME_EACH;
}

/* Note the program's frame that calls this library now, or that has deferred what it does now.  */
static void
gompy_log_frame (void)
{
  struct gompy_frame f;
  if (gompy_frame_state == GOMPY_FRAME_NOTED || gompy_frame_state == GOMPY_FRAME_DUE)
    return;
  if (gompy_withholds (gompy_frame_is_one ()))
    {
      gompy_frame_asked = 1;
      return;
    }
  gompy_say_withheld ();
  if (gompy_frame_state == GOMPY_FRAME_ONCE)
    {
      gompy_frame_state = gompy_may_come_again () ? GOMPY_FRAME_DUE : GOMPY_FRAME_NOTED;
      if (gompy_frame_state == GOMPY_FRAME_DUE)
        return;
    }
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

#endif
