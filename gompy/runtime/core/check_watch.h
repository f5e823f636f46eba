/* `gompy run --check`: what the program itself reads of given bytes of its memory, exactly, between two constructs.

   The pages are without access.  An access faults, is judged, and let through by a single step.  The kernel would
   answer EFAULT where a process accesses such pages by it; so each system call of the program comes here first
   (prctl (PR_SET_SYSCALL_USER_DISPATCH)), and what may concern the pages ends the watch before it is made.

   Only a program with one thread is watched, as another thread's system calls would not come here.  Threads of gompy's
   own (their names begin with GOMPY_OWN_THREADS) may be there if they sleep: who uses a device wakes them, and that
   ends the watch first.  Where anything is not as expected, nothing is watched.  Included once, by check_stale.h.  */
#ifndef GOMPY_CHECK_WATCH_H
#define GOMPY_CHECK_WATCH_H

#include "gompy/native/access_size.h"
#include "gompy/native/traced.h"
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <ucontext.h>

#define GOMPY_WATCHED 256
#define GOMPY_WATCH_STEPS 30000u      /* in the life of the process */
#define GOMPY_WATCH_PAGE_STEPS 600u   /* in a page, until the next construct */
#define GOMPY_WATCH_WRITES 24u
#define GOMPY_LARGEST_STORE 64u
#define GOMPY_WATCH_STACK 65536
#define GOMPY_TRAP_FLAG 0x100
#define GOMPY_PAGE 4096ul
#define GOMPY_OWN_THREADS "gompy-"    /* of the emulated GPU: gompy/cuda/streams.pxi, gompy/ptx/launch.pxi */
#define GOMPY_SLEEP_TRIES 300         /* of 100 microseconds: a thread that has done its work goes to sleep */
#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2  /* si_code */
#endif
#define GOMPY_DISPATCH 59    /* PR_SET_SYSCALL_USER_DISPATCH */

/* Pages that are closed, all or but those that were opened again.  */
struct gompy_watched
{
  uintptr_t begin, end;
  unsigned short *steps;  /* by page: 0xffff: open until the next construct */
  unsigned char *writes;
};

/* What the owner of the pages says of an access at an address: whether it is to be reported; and it forgets what is
   written, or all of a page.  */
static int gompy_is_newer (uintptr_t address, size_t size);
static int gompy_judge_read (uintptr_t address, size_t size, int in_program, uintptr_t pc);
static void gompy_note_write (uintptr_t address, size_t size);
static void gompy_note_unseen (uintptr_t begin, uintptr_t end);  /* of which not all accesses are seen */
static void gompy_note_unwatched (void);

static struct gompy_watched gompy_watches[GOMPY_WATCHED];
static unsigned gompy_watch_count, gompy_watch_steps;
static volatile unsigned char gompy_dispatch;  /* 1: system calls come here */
static int gompy_watch_ready;  /* 1, or -1: impossible */
static int gompy_watch_on;
static long gompy_watch_thread;
static uintptr_t gompy_stepping[8];
static unsigned gompy_stepping_count;
static struct gompy_own_object gompy_program_code;  /* its code */

struct gompy_kernel_action
{
  void (*handler) (int, siginfo_t *, void *);
  unsigned long flags;
  void (*restorer) (void);
  unsigned long mask;
};
static struct gompy_kernel_action gompy_old_actions[3];
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

/* Open all pages, and let system calls pass.  */
static void
gompy_end_watch (void)
{
  gompy_dispatch = 0;
  if (!gompy_watch_on)
    return;
  gompy_watch_on = 0;
  for (unsigned i = 0; i < gompy_watch_count; i++)
    gompy_protect (gompy_watches[i].begin, gompy_watches[i].end, PROT_READ | PROT_WRITE);
  for (unsigned i = 0; i < 3; i++)
    gompy_set_action (i, &gompy_old_actions[i], NULL);
  gompy_watch_count = 0;
  gompy_stepping_count = 0;
}

static struct gompy_watched *
gompy_watch_at (uintptr_t address)
{
  for (unsigned i = 0; i < gompy_watch_count; i++)
    if (address - gompy_watches[i].begin < gompy_watches[i].end - gompy_watches[i].begin)
      return &gompy_watches[i];
  return NULL;
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

static void
gompy_watch_fault (siginfo_t *info, ucontext_t *context)
{
  greg_t *registers = context->uc_mcontext.gregs;
  uintptr_t address = (uintptr_t) info->si_addr, page = address & -GOMPY_PAGE, pc = (uintptr_t) registers[REG_RIP];
  struct gompy_watched *w = gompy_watch_at (address);
  int writes = (registers[REG_ERR] & 2) != 0;
  size_t number;
  int own = pc - gompy_own.start < gompy_own.end - gompy_own.start;
  if (w == NULL || info->si_code != SEGV_ACCERR || (own && gompy_is_newer (address, 8)))
    {
      gompy_note_unwatched ();
      gompy_end_watch ();  /* not ours: it happens again, and who had the signal before gets it */
      return;
    }
  number = (page - w->begin) / GOMPY_PAGE;
  if (writes)
    {
      gompy_note_write (address, GOMPY_LARGEST_STORE);
      w->writes[number]++;
    }
  else
    gompy_judge_read (address, gompy_access_size ((const unsigned char *) pc),
                      pc - gompy_program_code.start < gompy_program_code.end - gompy_program_code.start, pc);
  if (w->steps[number] >= GOMPY_WATCH_PAGE_STEPS || w->writes[number] >= GOMPY_WATCH_WRITES
      || gompy_watch_steps >= GOMPY_WATCH_STEPS || gompy_stepping_count == 8)
    {
      w->steps[number] = 0xffff;
      gompy_note_unseen (page, page + GOMPY_PAGE);
      gompy_protect (page, page + GOMPY_PAGE, PROT_READ | PROT_WRITE);
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
      gompy_protect (page, page + GOMPY_PAGE, PROT_NONE);
    }
}

/* A system call of the program.  Those that cannot concern the pages are made here.  */
static void
gompy_watch_call (siginfo_t *info, ucontext_t *context)
{
  greg_t *r = context->uc_mcontext.gregs;
  uintptr_t arguments[6] = { r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9] };
  long number = info->si_syscall;
  int harmless = 0;
  switch (number)
    {
    case SYS_read: case SYS_write: case SYS_pread64: case SYS_pwrite64:
      harmless = !gompy_meets_watch (arguments[1], arguments[2]);
      if (!harmless && (number == SYS_write || number == SYS_pwrite64))
        for (uintptr_t a = arguments[1]; a < arguments[1] + arguments[2]; a++)
          if (gompy_judge_read (a, 1, 1, (uintptr_t) r[REG_RIP]))
            break;
      break;
    case SYS_mmap: case SYS_munmap: case SYS_mprotect: case SYS_madvise:
      harmless = !gompy_meets_watch (arguments[0], arguments[1] + GOMPY_PAGE);
      break;
    case SYS_close: case SYS_fstat: case SYS_newfstatat: case SYS_lseek: case SYS_futex: case SYS_clock_gettime:
    case SYS_clock_nanosleep: case SYS_nanosleep: case SYS_getpid: case SYS_gettid: case SYS_sched_yield:
    case SYS_getrandom: case SYS_ioctl: case SYS_openat: case SYS_sysinfo: case SYS_gettimeofday:
      harmless = 1;
      for (unsigned i = 0; i < 6; i++)
        if (gompy_meets_watch (arguments[i], GOMPY_PAGE))
          harmless = 0;
      break;
    default:
      break;
    }
  if (harmless)
    {
      r[REG_RAX] = gompy_raw_call (number, (long) arguments[0], (long) arguments[1], (long) arguments[2],
                                   (long) arguments[3], (long) arguments[4], (long) arguments[5]);
      return;
    }
  gompy_note_unwatched ();
  gompy_end_watch ();
  r[REG_RAX] = number;
  r[REG_RIP] -= 2;  /* it is made again, and passes */
}

/* A thread of gompy's own has woken, and is about to use a page: from here on that is open.  */
static void
gompy_watch_other (siginfo_t *info)
{
  uintptr_t page = (uintptr_t) info->si_addr & -GOMPY_PAGE;
  struct gompy_watched *w = gompy_watch_at (page);
  if (w == NULL)
    {
      gompy_end_watch ();  /* not ours, as in gompy_watch_fault */
      return;
    }
  w->steps[(page - w->begin) / GOMPY_PAGE] = 0xffff;
  gompy_note_unseen (page, page + GOMPY_PAGE);
  gompy_protect (page, page + GOMPY_PAGE, PROT_READ | PROT_WRITE);
}

static void
gompy_on_watch (int signo, siginfo_t *info, void *context)
{
  int error = errno;
  if (gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0) != gompy_watch_thread)
    {
      gompy_watch_other (info);
      errno = error;
      return;
    }
  gompy_dispatch = 0;
  if (signo == SIGSYS && info->si_code == SYS_USER_DISPATCH)
    gompy_watch_call (info, context);
  else if (signo == SIGTRAP && gompy_stepping_count)
    gompy_watch_step (context);
  else
    gompy_watch_fault (info, context);
  gompy_dispatch = gompy_watch_on != 0;
  errno = error;
}

/* --- begin ---------------------------------------------------------------------------------------------------- */

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

/* Memory that only a program under the check needs.  As data of the library it would count everywhere.  */
static void *
gompy_check_room (size_t size)
{
  void *room = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? NULL : room;
}

static struct
{
  char stack[GOMPY_WATCH_STACK];
  unsigned short steps[GOMPY_WATCHED * 64];
  unsigned char writes[GOMPY_WATCHED * 64];
} *gompy_watch_room;

static int
gompy_prepare_watch (void)
{
  stack_t now, own = { NULL, 0, GOMPY_WATCH_STACK };
  if (gompy_watch_ready)
    return gompy_watch_ready > 0;
  gompy_watch_ready = -1;
  if (gompy_is_traced ())
    return 0;
  gompy_watch_room = gompy_check_room (sizeof *gompy_watch_room);
  if (gompy_watch_room == NULL)
    return 0;
  own.ss_sp = gompy_watch_room->stack;
  dl_iterate_phdr (gompy_find_program, NULL);
  if (gompy_own.end == 0 || (uintptr_t) gompy_watch_return - gompy_own.start >= gompy_own.end - gompy_own.start)
    return 0;
  if (sigaltstack (NULL, &now) != 0 || ((now.ss_flags & SS_DISABLE) && sigaltstack (&own, NULL) != 0))
    return 0;
  if (prctl (GOMPY_DISPATCH, 1, gompy_own.start, gompy_own.end - gompy_own.start, &gompy_dispatch) != 0)
    return 0;
  gompy_watch_thread = gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0);
  gompy_watch_ready = 1;
  return 1;
}

/* Whether a thread of this process is gompy's own, and sleeps.  ID: the name of its folder.  */
static int
gompy_sleeps (const char *id)
{
  char path[64], text[128], *name;
  int fd;
  ssize_t n;
  snprintf (path, sizeof path, "/proc/self/task/%.20s/stat", id);
  for (int tries = 0; tries < GOMPY_SLEEP_TRIES; tries++)
    {
      if ((fd = gompy_open (path, O_RDONLY, 0)) < 0)
        return 0;
      n = read (fd, text, sizeof text - 1);
      close (fd);
      text[n > 0 ? n : 0] = 0;
      name = strchr (text, '(');
      if (name == NULL || strncmp (name + 1, GOMPY_OWN_THREADS, sizeof GOMPY_OWN_THREADS - 1) != 0
          || (name = strrchr (name, ')')) == NULL)
        return 0;
      if (strncmp (name, ") S", 3) == 0)
        return 1;
      usleep (100);
    }
  return 0;
}

/* Whether no other thread of the process does anything.  */
static int
gompy_is_alone (void)
{
  struct stat s;
  struct dirent *entry;
  DIR *tasks;
  int alone = 1;
  if (stat ("/proc/self/task", &s) != 0)
    return 0;
  if (s.st_nlink == 3)
    return 1;
  if ((tasks = gompy_opendir ("/proc/self/task")) == NULL)
    return 0;
  while (alone && (entry = readdir (tasks)) != NULL)
    alone = entry->d_name[0] == '.' || atol (entry->d_name) == gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0)
            || gompy_sleeps (entry->d_name);
  closedir (tasks);
  return alone;
}

/* Whether there is one thread, and no handler would run on a stack that may be closed.  */
static int
gompy_may_watch (void)
{
  struct sigaction a;
  if (gompy_watch_steps >= GOMPY_WATCH_STEPS || !gompy_is_alone ())
    return 0;
  for (int i = 1; i < 32; i++)
    if (i != SIGKILL && i != SIGSTOP && sigaction (i, NULL, &a) == 0 && a.sa_handler != SIG_DFL
        && a.sa_handler != SIG_IGN && !(a.sa_flags & SA_ONSTACK) && i != SIGSEGV && i != SIGTRAP && i != SIGSYS)
      return 0;
  return gompy_prepare_watch () && gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0) == gompy_watch_thread;
}

/* Of the pages of [BEGIN, END), those at the front that are private and may be read and written.  TEXT: the maps.  */
static uintptr_t
gompy_watchable (const char *text, uintptr_t begin, uintptr_t end)
{
  uintptr_t thread, at = begin;
  __asm__ ("mov %%fs:0, %0" : "=r" (thread));
  if (begin < thread + GOMPY_PAGE && thread - 2 * 65536 < end)
    return begin;
  for (const char *line = text; line != NULL && *line; line = strchr (line, '\n'))
    {
      char *p;
      uintptr_t low, high;
      line += *line == '\n';
      low = strtoull (line, &p, 16);
      if (*p != '-')
        break;
      high = strtoull (p + 1, &p, 16);
      if (low <= at && at < high && strncmp (p, " rw-p", 5) == 0)
        at = high;
      if (at >= end)
        return end;
    }
  return at;
}

static void
gompy_watch_pages (const char *maps, uintptr_t begin, uintptr_t end)
{
  struct gompy_watched *w = &gompy_watches[gompy_watch_count];
  static size_t used;
  size_t pages;
  begin &= -GOMPY_PAGE;
  end = (end + GOMPY_PAGE - 1) & -GOMPY_PAGE;
  if (gompy_watch_count == 0)
    used = 0;
  for (unsigned i = 0; i < gompy_watch_count; i++)  /* what another variable has in its pages already */
    {
      if (begin >= gompy_watches[i].begin && begin < gompy_watches[i].end)
        begin = gompy_watches[i].end;
      if (end > gompy_watches[i].begin && end <= gompy_watches[i].end)
        end = gompy_watches[i].begin;
      if (begin < gompy_watches[i].begin && end > gompy_watches[i].end)
        end = gompy_watches[i].begin;
    }
  if (begin >= end || gompy_watch_count == GOMPY_WATCHED || gompy_watchable (maps, begin, end) != end)
    return;
  pages = (end - begin) / GOMPY_PAGE;
  if (used + pages > GOMPY_WATCHED * 64)
    pages = GOMPY_WATCHED * 64 - used;
  if (pages == 0)
    return;
  w->begin = begin;
  w->end = begin + pages * GOMPY_PAGE;
  w->steps = gompy_watch_room->steps + used;
  w->writes = gompy_watch_room->writes + used;
  memset (w->steps, 0, pages * sizeof *w->steps);
  memset (w->writes, 0, pages);
  used += pages;
  gompy_watch_count++;
}

static void
gompy_begin_watch (void)
{
  struct gompy_kernel_action action
    = { gompy_on_watch, SA_SIGINFO | SA_ONSTACK | 0x04000000, gompy_watch_return, ~0ul };
  if (gompy_watch_count == 0)
    return;
  for (unsigned i = 0; i < 3; i++)
    gompy_set_action (i, &action, &gompy_old_actions[i]);
  for (unsigned i = 0; i < gompy_watch_count; i++)
    gompy_protect (gompy_watches[i].begin, gompy_watches[i].end, PROT_NONE);
  gompy_watch_on = 1;
  gompy_dispatch = 1;
}

#endif
