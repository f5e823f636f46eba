/* `gompy run --check`: what the program itself reads of given bytes of its memory, exactly, between two constructs.

   The pages are without access.  An access faults, is judged, and let through by a single step.  The kernel would
   answer EFAULT where a process accesses such pages by it; so each system call of the program comes here first
   (prctl (PR_SET_SYSCALL_USER_DISPATCH)), and what may concern the pages ends the watch before it is made.

   Only one thread may be awake, as another's system calls would not come here.  Threads of gompy's own (their names
   begin with GOMPY_OWN_THREADS; own_threads.h) sleep: who uses a device wakes them, and that ends the watch first.  So
   do threads of the program's that wait for a futex without a time: what wakes them is a system call, and ends the
   watch.  Where anything is not as expected, nothing is watched.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_WATCH_H
#define GOMPY_CHECK_WATCH_H

#include "gompy/native/access.h"
#include "gompy/native/access_size.h"
#include "gompy/native/clock.h"
#include "gompy/native/handing_on.h"
#include "gompy/native/mappings.h"
#include "gompy/native/traced.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <ucontext.h>

#define GOMPY_WATCHED 768
#define GOMPY_WATCHED_PAGES 262144u
#define GOMPY_WATCH_FREE_STEPS 5000u  /* more only if they are few for the program's processor time */
#define GOMPY_WATCH_STEP_PERIOD 400000ull /* ns; a step takes 5 to 25 us */
#define GOMPY_WATCH_PAGE_STEPS 600u   /* in a page, until the next construct; more if as many are left after them */
#define GOMPY_WATCH_WRITES 24u        /* in it, of what is newer on a device: the program writes it anew */
#define GOMPY_WATCH_WRITTEN 65536u    /* bytes that are opened at once where only writes are watched */
#define GOMPY_WATCH_OPEN 0xffffu
#define GOMPY_WATCH_AHEAD 16u /* parts that are looked at before they are used */
#define GOMPY_WATCH_STACK 65536
#define GOMPY_TRAP_FLAG 0x100
#define GOMPY_WATCH_MASK (~(1ul << (SIGSEGV - 1)))  /* blocked while the handler runs */
#define GOMPY_PAGE 4096ul
#define GOMPY_OWN_THREADS "gompy-"    /* of the emulated GPU: gompy/cuda/streams.pxi, gompy/ptx/launch.pxi */
#define GOMPY_QUEUE_THREAD "gompy-queue" /* of the emulated MIC (acc_queue.pxi): it wakes by itself for a while */
#define GOMPY_SLEEP_TRIES 300         /* of 100 microseconds: a thread that has done its work goes to sleep */
#define GOMPY_OWN_LOOKS 4u            /* before that is read from /proc */
#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2  /* si_code */
#endif
#define GOMPY_DISPATCH 59    /* PR_SET_SYSCALL_USER_DISPATCH */
#define GOMPY_FUTEX_COMMAND 0x7f  /* FUTEX_CMD_MASK; 9 waits, too */
#define GOMPY_FUTEX_WAIT 0
#define GOMPY_FUTEX_WAKE 1

/* Pages that are closed, all or but those that were opened again.  */
struct gompy_watched
{
  uintptr_t begin, end;
  unsigned short *steps;  /* by page; or GOMPY_WATCH_OPEN: open until the next construct */
  unsigned char *writes;
  unsigned looks;         /* parts that were looked at since the last construct */
  unsigned ahead;         /* how many of them at the last access; the program goes through them in order */
  uintptr_t next;         /* where those end */
  int access;             /* of closed pages: none, or reads */
  int own;                /* the pages are a block of malloc's, and nothing else */
  int opened;             /* some pages are open until the next construct */
  int held;               /* in a rest: all of them stay closed while constructs run */
};

/* What is watched in a rest, which gompy_rests says.  */
enum
{
  GOMPY_REST_BLIND,    /* nothing */
  GOMPY_REST_WATCHES,  /* what regions may have written */
  GOMPY_REST_HOLDS     /* of that, pages that stay closed while constructs run */
};
static int gompy_rest_watches;
static uint64_t gompy_rest_launches;  /* regions that have ended in rests */

extern struct gompy_access gompy_access;

/* What the owner of the pages says of an access at an address: whether it is to be reported; and it forgets what is
   written, or all of a page.  */
static void gompy_note_written (uintptr_t begin, uintptr_t end);
static void gompy_note_outdated (uintptr_t begin, uintptr_t end);
static int gompy_is_newer (uintptr_t address, size_t size);
static int gompy_judge_read (uintptr_t address, size_t size, int in_program, uintptr_t pc);
static void gompy_forget_left (uintptr_t sp);
static void gompy_note_write (uintptr_t address, size_t size);
static void gompy_look_at_unkept (void);
static void gompy_note_unseen (uintptr_t begin, uintptr_t end);  /* of which not all accesses are seen */
static void gompy_note_unwatched (void);
static int gompy_is_own_block (uintptr_t begin, uintptr_t end);
static int gompy_unseen_part (uintptr_t page, uintptr_t *begin, uintptr_t *end);
static void gompy_look_at (uintptr_t address);
static void gompy_drop_left (uintptr_t begin, uintptr_t end);
static void gompy_drop_freed (uintptr_t address, size_t size);
static void gompy_rest_settle (void);
static void gompy_rest_leave_range (struct gompy_watched *w);
static int gompy_has_parts (void);
static int gompy_read_host (void *to, uintptr_t from, size_t size);
static unsigned char *gompy_part;
static int gompy_is_harmless (uintptr_t begin, uintptr_t end);
static int gompy_has_time (size_t size);
static uint64_t gompy_stale_begun;

static struct gompy_watched *gompy_watches;  /* and gompy_helds: made with the first watch */
static unsigned gompy_watch_count, gompy_watch_steps;
static volatile unsigned char gompy_dispatch;  /* 1: system calls come here */
static int gompy_watch_ready;  /* 1, or -1: impossible */
static volatile int gompy_watch_on;
static volatile int gompy_watch_handles;   /* the handler runs */
static int gompy_watch_sleepers;  /* threads of the program's are asleep */
static int gompy_handlers_seen;   /* 0, or GOMPY_HANDLERS_...: what the program's handlers are, as nobody has set any */
static unsigned gompy_known_count;         /* ranges that were watched last, as far as that is known */
static long gompy_watch_thread;
static uintptr_t gompy_stepping[8];
static unsigned gompy_stepping_count;
static int gompy_trap_due;  /* the watch has ended in a step, which a handler of the program's has interrupted */

struct gompy_kernel_action
{
  void (*handler) (int, siginfo_t *, void *);
  unsigned long flags;
  void (*restorer) (void);
  unsigned long mask;
};
static struct gompy_kernel_action gompy_old_actions[3];
static int gompy_actions_ours; /* the handlers are, those before are in gompy_old_actions */
static const int gompy_watch_signals[3] = { SIGSEGV, SIGTRAP, SIGSYS };

/* Ours, as its system call must not be dispatched.  */
extern void gompy_watch_return (void) __attribute__ ((visibility ("hidden")));
__asm__ (".text\n.type gompy_watch_return,@function\ngompy_watch_return:\n\tmov $15, %eax\n\tsyscall\n"
         ".size gompy_watch_return, .-gompy_watch_return\n");

static long
gompy_raw_call (long n, long a, long b, long c, long d, long e, long f)
{
  long result;
  register long r10 __asm__ ("r10") = d;
  register long r8 __asm__ ("r8") = e;
  register long r9 __asm__ ("r9") = f;
  __asm__ volatile ("syscall" : "=a" (result) : "a" (n), "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8), "r" (r9)
                    : "rcx", "r11", "memory");
  return result;
}

static void
gompy_protect (uintptr_t begin, uintptr_t end, int access)
{
  gompy_raw_call (SYS_mprotect, (long) begin, (long) (end - begin), access, 0, 0, 0);
}

static void
gompy_set_action (int i, const struct gompy_kernel_action *action, struct gompy_kernel_action *old)
{
  gompy_raw_call (SYS_rt_sigaction, gompy_watch_signals[i], (long) action, (long) old, 8, 0, 0);
}

#include "check_watch_signals.h"
#include "check_watch_hold.h"

/* Open all ranges, which are in order of their addresses: those that touch take one call, as each call may split and
   join mappings of the kernel's.  */
static void
gompy_open_all (void)
{
  struct gompy_protecting p = { 0, 0, 0 };
  for (unsigned i = 0; i < gompy_watch_count; i++)
    gompy_protect_next (&p, gompy_watches[i].begin, gompy_watches[i].end, PROT_READ | PROT_WRITE);
  gompy_protect_last (&p);
}

/* Open all pages, and then let system calls pass: a handler of a signal may make one at any time.  */
static void
gompy_end_watch (void)
{
  unsigned long before;
  int out;
  if (!gompy_watch_on && !gompy_held_count && !gompy_actions_ours)
    {
      gompy_handlers_seen = 0;
      gompy_dispatch = 0;
      return;
    }
  out = gompy_keep_handlers_out (&before);
  gompy_handlers_seen = 0;
  gompy_open_all ();
  gompy_open_held ();
  gompy_watch_on = 0;
  gompy_dispatch = 0;
  gompy_trap_due |= gompy_stepping_count != 0;
  for (unsigned i = 0; i < 3 && gompy_actions_ours; i++)
    if (gompy_watch_signals[i] != SIGTRAP || !gompy_trap_due)
      gompy_restore_action (i);
  gompy_actions_ours = 0;
  gompy_watch_count = 0;
  gompy_stepping_count = 0;
  if (out)
    gompy_let_handlers_in (&before);
}

/* The step that was interrupted has been made.  */
static void
gompy_end_due_step (ucontext_t *context)
{
  context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t) GOMPY_TRAP_FLAG;
  gompy_trap_due = 0;
  for (unsigned i = 0; i < 3 && !gompy_actions_ours; i++)
    if (gompy_watch_signals[i] == SIGTRAP)
      gompy_restore_action (i);
}

/* While the watch is on: ranges are in order of their addresses then.  */
static struct gompy_watched *
gompy_watch_at (uintptr_t address)
{
  unsigned low = 0, high = gompy_watch_count;
  while (low < high)
    {
      unsigned middle = (low + high) / 2;
      if (address < gompy_watches[middle].begin)
        high = middle;
      else if (address >= gompy_watches[middle].end)
        low = middle + 1;
      else
        return &gompy_watches[middle];
    }
  return NULL;
}

/* Whether all pages of [BEGIN, END) are watched.  */
static int
gompy_is_watched (uintptr_t begin, uintptr_t end)
{
  const struct gompy_watched *w;
  while (begin < end && (w = gompy_watch_at (begin)) != NULL)
    begin = w->end;
  return begin >= end;
}

/* Pages that are open stay so until the next construct.  */
static void
gompy_leave_open (struct gompy_watched *w, uintptr_t begin, uintptr_t end)
{
  for (uintptr_t page = begin; page < end; page += GOMPY_PAGE)
    w->steps[(page - w->begin) / GOMPY_PAGE] = GOMPY_WATCH_OPEN;
  w->opened = 1;
  if (w->held)
    gompy_rest_untell (w->begin, w->end);
  gompy_note_unseen (begin, end);
}

/* Open pages until the next construct.  */
static void
gompy_open_watched (struct gompy_watched *w, uintptr_t begin, uintptr_t end)
{
  gompy_protect (begin, end, PROT_READ | PROT_WRITE);
  gompy_leave_open (w, begin, end);
}

/* Whether a page is watched, and closed.  */
static int
gompy_is_closed (uintptr_t page)
{
  const struct gompy_watched *w = gompy_watch_at (page);
  return w != NULL && w->steps[(page - w->begin) / GOMPY_PAGE] != GOMPY_WATCH_OPEN;
}

/* Open all closed pages of [BEGIN, END) for a moment (ACCESS), or close those again that have something newer.  */
static void
gompy_sort_pages (uintptr_t begin, uintptr_t end, int access)
{
  for (uintptr_t next, page = begin; page < end; page = next)
    {
      int closed = gompy_is_closed (page), harmless = closed && !access && gompy_is_harmless (page, page + GOMPY_PAGE);
      struct gompy_watched *w = gompy_watch_at (page);
      for (next = page + GOMPY_PAGE; next < end && gompy_is_closed (next) == closed && gompy_watch_at (next) == w
	   && (access || !closed || gompy_is_harmless (next, next + GOMPY_PAGE) == harmless); next += GOMPY_PAGE)
	;
      if (!closed)
	continue;
      if (harmless)
	gompy_leave_open (w, page, next);
      else
	gompy_protect (page, next, access ? PROT_READ | PROT_WRITE : w->access);
    }
}

/* The same around reads of this library's own, which are none of the program's.  Another thread than the one that is
   watched is not told of (gompy_watch_other).  */
static void
gompy_open_to_library (uintptr_t begin, uintptr_t end, int open)
{
  if (gompy_watch_on && gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0) == gompy_watch_thread)
    gompy_sort_pages (begin & -GOMPY_PAGE, (end + GOMPY_PAGE - 1) & -GOMPY_PAGE, open);
}

/* Look at the part that begins at BEGIN, and, where the program goes through a range in order, at those behind it:
   twice as many each time.  Where that ends.  */
static uintptr_t
gompy_look_ahead (struct gompy_watched *w, uintptr_t begin, uintptr_t end)
{
  uintptr_t first = begin & -GOMPY_PAGE, next = (end + GOMPY_PAGE - 1) & -GOMPY_PAGE;
  if (w->next - first > GOMPY_PAGE)  /* a part may begin within the page that ends another */
    w->ahead = 1;
  else if (w->ahead < GOMPY_WATCH_AHEAD)
    w->ahead *= 2;
  gompy_sort_pages (first, next, 1);
  gompy_look_at (begin);
  for (unsigned n = 1; n < w->ahead && next < w->end && gompy_is_closed (next) && gompy_unseen_part (next, &begin, &end)
       && begin >= first; n++)
    {
      uintptr_t from = next;
      next = (end + GOMPY_PAGE - 1) & -GOMPY_PAGE;
      gompy_sort_pages (from, next, 1);
      gompy_look_at (begin);
      w->looks++;
    }
  gompy_sort_pages (first, next, 0);
  return next;
}

/* The first access to a part of a range that was not looked at since a region has ended.  Without time for that all of
   the range is open until the next construct.  */
static void
gompy_watch_first (uintptr_t page)
{
  struct gompy_watched *w = gompy_watch_at (page);
  uintptr_t begin, end;
  while (w != NULL && gompy_is_closed (page) && gompy_unseen_part (page, &begin, &end))
    {
      if (w->looks++ && !gompy_has_time (SIZE_MAX))
	{
	  gompy_open_watched (w, w->begin, w->end);
	  return;
	}
      w->next = gompy_look_ahead (w, begin, end);
    }
}

/* Whether [BEGIN, BEGIN + SIZE) meets watched pages.  */
static int
gompy_meets_watch (uintptr_t begin, size_t size)
{
  for (unsigned i = 0; i < gompy_watch_count; i++)
    if (begin < gompy_watches[i].end && gompy_watches[i].begin < begin + size)
      return 1;
  return 0;
}

/* Whether any page of [BEGIN, BEGIN + SIZE) is watched, and closed.  */
static int
gompy_meets_closed (uintptr_t begin, size_t size)
{
  if (gompy_meets_watch (begin, size))
    for (uintptr_t page = begin & -GOMPY_PAGE; page < begin + size; page += GOMPY_PAGE)
      if (gompy_is_closed (page))
	return 1;
  return 0;
}

/* Nanoseconds.  The program's own clock_gettime is not called while it is watched.  */
static uint64_t
gompy_raw_time (clockid_t clock)
{
  struct timespec t = { 0, 0 };
  gompy_raw_call (SYS_clock_gettime, clock, (long) &t, 0, 0, 0, 0);
  return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static uint64_t
gompy_processor_time (void)
{
  return gompy_raw_time (CLOCK_PROCESS_CPUTIME_ID);
}

/* How many steps may be made now.  */
static uint64_t
gompy_steps_left (void)
{
  uint64_t may = GOMPY_WATCH_FREE_STEPS;
  if (gompy_watch_steps >= may)  /* on a busy machine far more time passes than the program has */
    may = gompy_processor_time () / GOMPY_WATCH_STEP_PERIOD;
  return may > gompy_watch_steps ? may - gompy_watch_steps : 0;
}

/* Whether a page may have another.  That of an array on the stack has the frames of all that the program calls from
   there: 600 steps are 60 calls, so it may take one half of what is left.  */
static int
gompy_may_step (unsigned made)
{
  uint64_t left = gompy_steps_left ();
  return left > 0 && (made < GOMPY_WATCH_PAGE_STEPS || (made < left && made < GOMPY_WATCH_OPEN - 1));
}

/* Open a page that has nothing newer.  Where the range is closed for writes alone, the next ones, too: who writes one
   page mostly writes them all.  */
static void
gompy_open_harmless (struct gompy_watched *w, uintptr_t page)
{
  uintptr_t end = page + GOMPY_PAGE;
  while (w->access == PROT_READ && end < w->end && end - page < GOMPY_WATCH_WRITTEN && gompy_is_closed (end)
         && gompy_is_harmless (end, end + GOMPY_PAGE))
    end += GOMPY_PAGE;
  gompy_open_watched (w, page, end);
}

#include "check_watch_strings.h"

static void
gompy_watch_fault (int signo, siginfo_t *info, ucontext_t *context)
{
  greg_t *registers = context->uc_mcontext.gregs;
  uintptr_t address = (uintptr_t) info->si_addr, page = address & -GOMPY_PAGE, pc = (uintptr_t) registers[REG_RIP];
  struct gompy_watched *w = gompy_watch_at (address);
  int writes = (registers[REG_ERR] & 2) != 0;
  size_t number;
  struct gompy_string string = { 0, 0, 0, 0 };
  int own = pc - gompy_own.start < gompy_own.end - gompy_own.start;
  int in_program = pc - gompy_program_code.start < gompy_program_code.end - gompy_program_code.start;
  if (signo != SIGSEGV)
    w = NULL;
  if (w != NULL && info->si_code == SEGV_ACCERR && gompy_is_entry (pc, address, (uintptr_t) registers[REG_RSP]))
    {
      gompy_protect (page, page + GOMPY_PAGE, PROT_READ | PROT_WRITE);
      return;
    }
  if (w != NULL && info->si_code == SEGV_ACCERR)
    {
      gompy_rest_settle ();
      if (writes && gompy_writes_string (w, registers, address, &string))
        gompy_drop_left (string.to, string.to + string.size);
      gompy_watch_first (page);
      if (string.size > 0)  /* all of it counts as written from here on: what it leaves of its last part is seen now */
        gompy_watch_first ((string.to + string.size - 1) & -GOMPY_PAGE);
      if (!gompy_is_closed (page))
	{
	  gompy_rest_leave_range (w);
	  return;
	}
    }
  if (w == NULL || info->si_code != SEGV_ACCERR || (own && gompy_is_newer (address, 8)))
    {
      gompy_note_unwatched ();
      gompy_end_watch ();  /* not ours: it happens again, and who had the signal before gets it */
      gompy_look_at_unkept ();
      gompy_send_again (signo, info);
      return;
    }
  gompy_forget_left ((uintptr_t) registers[REG_RSP]);
  if (string.size > 0 && gompy_watch_string (w, registers, &string, in_program))
    return;
  number = (page - w->begin) / GOMPY_PAGE;
  if (writes)
    {
      size_t size = gompy_write_size_at ((const unsigned char *) pc, address);
      gompy_flight_judge (address, 1, 1, in_program, pc);
      w->writes[number] += gompy_is_newer (address, size);
      if (!in_program && !gompy_access.hooked)
        gompy_drop_freed (address, size);
      gompy_note_write (address, size);
    }
  else
    {
      size_t size = gompy_access_size ((const unsigned char *) pc);
      gompy_flight_judge (address, size, 0, in_program, pc);
      gompy_judge_read (address, size, in_program, pc);
    }
  if (gompy_is_harmless (page, page + GOMPY_PAGE))  /* it was the last such byte, or has been told */
    {
      gompy_open_harmless (w, page);
      gompy_rest_leave_range (w);
      return;
    }
  if (w->held || w->writes[number] >= GOMPY_WATCH_WRITES || gompy_stepping_count == 8
      || !gompy_may_step (w->steps[number]))
    {
      if (w->writes[number] && !gompy_access.hooked)  /* it writes the rest, too; in order: what comes behind it */
        gompy_note_outdated (gompy_is_newer (address - 1, 1) ? page : address, page + GOMPY_PAGE);
      gompy_open_watched (w, page, page + GOMPY_PAGE);
      gompy_rest_leave_range (w);
      return;
    }
  w->steps[number]++;
  gompy_watch_steps++;
  gompy_protect (page, page + GOMPY_PAGE, PROT_READ | PROT_WRITE);
  gompy_stepping[gompy_stepping_count++] = page;
  registers[REG_EFL] |= GOMPY_TRAP_FLAG;
}

static void
gompy_watch_step (ucontext_t *context)
{
  if (!gompy_stepping_count)
    return;
  context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t) GOMPY_TRAP_FLAG;
  while (gompy_stepping_count)
    {
      uintptr_t page = gompy_stepping[--gompy_stepping_count];
      const struct gompy_watched *w = gompy_watch_at (page);
      gompy_protect (page, page + GOMPY_PAGE, w != NULL ? w->access : PROT_NONE);
    }
}

#include "check_watch_calls.h"

/* A thread of gompy's own has woken, and is about to use a page: from here on that is open.  */
static void
gompy_watch_other (int signo, siginfo_t *info)
{
  uintptr_t page = (uintptr_t) info->si_addr & -GOMPY_PAGE;
  struct gompy_watched *w = signo == SIGSEGV && info->si_code == SEGV_ACCERR ? gompy_watch_at (page) : NULL;
  if (w == NULL)
    {
      gompy_end_watch ();  /* not ours, as in gompy_watch_fault */
      gompy_send_again (signo, info);
      return;
    }
  gompy_open_watched (w, page, page + GOMPY_PAGE);
}

/* The handler itself uses a page: gompy's, or a plugin's, memory lies beside the program's.  Whether that was it; the
   page is open from here on.  */
static int
gompy_watch_nested (int signo, const siginfo_t *info)
{
  uintptr_t page = (uintptr_t) info->si_addr & -GOMPY_PAGE;
  struct gompy_watched *w = gompy_watch_at (page);
  if (signo != SIGSEGV || info->si_code != SEGV_ACCERR || !gompy_watch_handles || w == NULL)
    return 0;
  gompy_open_watched (w, page, page + GOMPY_PAGE);
  return 1;
}

static void
gompy_on_watch (int signo, siginfo_t *info, void *context)
{
  int error = errno;
  uint64_t begin = gompy_raw_time (CLOCK_MONOTONIC), before = gompy_stale_time;
  if (signo == SIGTRAP && gompy_trap_due && !gompy_stepping_count)
    {
      gompy_end_due_step (context);
      return;
    }
  if (!gompy_watch_on && !gompy_held_count && __builtin_return_address (0) != (void *) gompy_watch_return)
    {
      gompy_hand_on (signo, info, context);
      return;
    }
  if (gompy_held_count && !gompy_watch_on)  /* a construct runs, and comes to what is held */
    {
      gompy_end_watch ();
      gompy_send_again (signo, info);
      errno = error;
      return;
    }
  if (gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0) != gompy_watch_thread)
    {
      gompy_watch_other (signo, info);
      errno = error;
      return;
    }
  if (gompy_watch_nested (signo, info))
    {
      errno = error;
      return;
    }
  gompy_watch_handles = 1;
  gompy_dispatch = 0;
  if (signo == SIGSYS && info->si_code == SYS_USER_DISPATCH)
    gompy_watch_call (info, context);
  else if (signo == SIGTRAP && gompy_stepping_count)
    gompy_watch_step (context);
  else
    gompy_watch_fault (signo, info, context);
  gompy_watch_handles = 0;
  if (signo == SIGSYS)  /* the call that is made may be a long sleep of the program's */
    begin = gompy_raw_time (CLOCK_MONOTONIC);
  gompy_stale_time = before + gompy_raw_time (CLOCK_MONOTONIC) - begin + GOMPY_SIGNAL_NS;
  gompy_dispatch = gompy_watch_on != 0;
  errno = error;
}

#include "check_watch_begin.h"

#endif
