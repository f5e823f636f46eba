/* `gompy run --check`: system calls of the program while it is watched.

   Those that cannot concern the watched pages are made in the handler, others end the watch first.
   Included once, by check_watch.h.  */
#ifndef GOMPY_CHECK_WATCH_CALLS_H
#define GOMPY_CHECK_WATCH_CALLS_H

static int
gompy_only_waits (unsigned long operation)
{
  return (operation & GOMPY_FUTEX_COMMAND) == GOMPY_FUTEX_WAIT || (operation & GOMPY_FUTEX_COMMAND) == 9;
}

/* Make a system call of the program with the signals that it has open.  It is made by this library's own code, and is
   not dispatched; those of a handler that runs while it blocks are: pages are closed.  */
static long
gompy_pass_call (ucontext_t *context, long number)
{
  greg_t *r = context->uc_mcontext.gregs;
  unsigned long all = GOMPY_WATCH_MASK;
  long result;
  gompy_watch_handles = 0;
  gompy_dispatch = gompy_watch_on != 0;
  gompy_raw_call (SYS_rt_sigprocmask, SIG_SETMASK, (long) &context->uc_sigmask, 0, 8, 0, 0);
  result = gompy_raw_call (number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
  gompy_raw_call (SYS_rt_sigprocmask, SIG_SETMASK, (long) &all, 0, 8, 0, 0);
  gompy_watch_handles = 1;
  gompy_dispatch = 0;
  return result;
}

/* How many bytes a call has written that reads a file, or a clock.  */
static size_t
gompy_written_by_call (long number, size_t size, long result)
{
  if (number == SYS_clock_gettime)
    return result == 0 ? size : 0;
  return (number == SYS_read || number == SYS_pread64) && result > 0 ? (size_t) result : 0;
}

/* The same of one that reads into closed pages, or writes from them.  */
static void
gompy_pass_transfer (ucontext_t *context, long number, uintptr_t begin, size_t size)
{
  uintptr_t first = begin & -GOMPY_PAGE, last = (begin + size + GOMPY_PAGE - 1) & -GOMPY_PAGE;
  long result;
  gompy_sort_pages (first, last, 1);
  result = gompy_pass_call (context, number);
  size = gompy_written_by_call (number, size, result);
  if (size > 0)
    gompy_note_written (begin, begin + size);
  gompy_sort_pages (first, last, 0);
  context->uc_mcontext.gregs[REG_RAX] = result;
}

/* Whether a request of ioctl has no pointers in what its argument points to: those of terminals.  */
static int
gompy_is_flat_request (uintptr_t request)
{
  return (request >= TCGETS && request <= TCSETSF) || request == TIOCGWINSZ || request == TIOCGPGRP
	 || request == FIONREAD || request == FIONBIO;
}

/* Whether a request of ioctl asks what is mapped somewhere, or which pages are guards, where nothing is watched, as the
   emulated GPU does, and is answered elsewhere, too.  The kernel reads the question, which may be nowhere.  */
static int
gompy_asks_elsewhere (const uintptr_t *arguments)
{
  union
  {
    struct gompy_mapping_query mapping;
    struct gompy_page_scan pages;
  } asked;
  const struct gompy_mapping_query *m = &asked.mapping;
  const struct gompy_page_scan *p = &asked.pages;
  size_t size = arguments[1] == GOMPY_MAPPING_QUERY ? sizeof *m : arguments[1] == GOMPY_PAGE_SCAN ? sizeof *p : 0;
  struct iovec to = { &asked, size }, from = { (void *) arguments[2], size };
  long got;
  if (size == 0 || gompy_meets_watch (arguments[2], GOMPY_PAGE))
    return 0;
  got = gompy_raw_call (SYS_process_vm_readv, gompy_raw_call (SYS_getpid, 0, 0, 0, 0, 0, 0), (long) &to, 1,
			(long) &from, 1, 0);
  if (got != (long) size)
    return got == -EFAULT;
  if (arguments[1] == GOMPY_MAPPING_QUERY)
    return !gompy_meets_watch (m->address, 1) && !gompy_meets_watch (m->name, m->name_size)
	   && !gompy_meets_watch (m->build_id, m->build_id_size);
  return p->start <= p->end && !gompy_meets_watch (p->start, p->end - p->start)
	 && p->room <= GOMPY_PAGE && !gompy_meets_watch (p->found, 3 * sizeof (uint64_t) * p->room);
}

/* How many of the registers are the arguments of a call that concerns no page beyond what these point to: the others
   have whatever the program left there, as a variable's address.  -1: a call that may.  */
static int
gompy_count_arguments (long number, const uintptr_t *arguments)
{
  unsigned long command = arguments[1] & GOMPY_FUTEX_COMMAND;
  switch (number)
    {
    case SYS_getpid: case SYS_getppid: case SYS_gettid: case SYS_sched_yield:
      return 0;
    case SYS_close: case SYS_sysinfo: case SYS_times:
      return 1;
    case SYS_fstat: case SYS_nanosleep: case SYS_gettimeofday: case SYS_clock_getres:
    case SYS_getrusage:
      return 2;
    case SYS_lseek: case SYS_ioctl: case SYS_openat:
      return 3;
    case SYS_newfstatat: case SYS_clock_nanosleep:
      return 4;
    case SYS_futex:
      return command == GOMPY_FUTEX_WAKE ? 3 : command == GOMPY_FUTEX_WAIT ? 4 : 6;
    default:
      return -1;
    }
}

/* A system call of the program.  */
static void
gompy_watch_call (siginfo_t *info, ucontext_t *context)
{
  greg_t *r = context->uc_mcontext.gregs;
  uintptr_t arguments[6] = { r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9] };
  long number = info->si_syscall;
  uintptr_t page;
  int harmless = 0, count;
  gompy_rest_settle ();
  switch (number)
    {
    case SYS_rt_sigreturn:  /* a handler of the program's ends, from the stack as it is */
      r[REG_RIP] = (greg_t) gompy_watch_return;
      return;
    case SYS_clock_gettime:  /* of a clock by its number */
      arguments[2] = sizeof (struct timespec);
      /* fall through */
    case SYS_read: case SYS_write: case SYS_pread64: case SYS_pwrite64:
      for (page = arguments[1] & -GOMPY_PAGE; gompy_meets_watch (arguments[1], arguments[2])
	   && page < arguments[1] + arguments[2]; page += GOMPY_PAGE)
	gompy_watch_first (page);
      harmless = !gompy_meets_closed (arguments[1], arguments[2]);
      if (!harmless)
        gompy_flight_judge (arguments[1], arguments[2], number != SYS_write && number != SYS_pwrite64, 1,
                            (uintptr_t) r[REG_RIP]);
      if (!harmless && (number == SYS_write || number == SYS_pwrite64))
        for (uintptr_t a = arguments[1]; a < arguments[1] + arguments[2]; a++)
          if (gompy_judge_read (a, 1, 2, (uintptr_t) r[REG_RIP]))
            break;
      if (!harmless)
        {
          gompy_pass_transfer (context, number, arguments[1], arguments[2]);
          return;
        }
      break;
    case SYS_getdents64:
      harmless = !gompy_meets_watch (arguments[1], arguments[2]);
      break;
    case SYS_getrandom:
      harmless = !gompy_meets_watch (arguments[0], arguments[1]);
      break;
    case SYS_brk:  /* the heap grows, or ends sooner: what lay there goes */
      harmless = arguments[0] == 0 || arguments[0] >= (uintptr_t) sbrk (0)
                 || !gompy_meets_watch (arguments[0], (uintptr_t) sbrk (0) - arguments[0]);
      break;
    case SYS_mmap: case SYS_munmap: case SYS_mprotect: case SYS_madvise:
      harmless = !gompy_meets_watch (arguments[0], arguments[1] + GOMPY_PAGE);
      break;
    case SYS_futex: case SYS_ioctl:
      if (number == SYS_futex ? gompy_watch_sleepers && !gompy_only_waits (arguments[1])
			      : !gompy_is_flat_request (arguments[1]) && !gompy_asks_elsewhere (arguments))
        break;
      /* fall through */
    default:
      count = gompy_count_arguments (number, arguments);
      harmless = count >= 0;
      for (int i = 0; i < count; i++)
        if (gompy_meets_watch (arguments[i], GOMPY_PAGE))
          harmless = 0;
      break;
    }
  if (harmless)
    {
      r[REG_RAX] = gompy_pass_call (context, number);
      return;
    }
  gompy_note_unwatched ();
  gompy_end_watch ();
  gompy_look_at_unkept ();
  r[REG_RAX] = number;
  r[REG_RIP] -= 2;  /* it is made again, and passes */
}

#endif
