/* `gompy run --check`: what the program's signals, and their handlers, let the watch do.

   A handler may run at any instruction of the program's thread.  It uses closed pages as the program does, and makes
   system calls.  To ask for all handlers takes some microseconds, so what was found is good until the program may have
   set another one: that is a system call, and those end the watch.  Included once, by check_watch.h.  */
#ifndef GOMPY_CHECK_WATCH_SIGNALS_H
#define GOMPY_CHECK_WATCH_SIGNALS_H

#define GOMPY_HANDLERS_KNOWN 1
#define GOMPY_HANDLERS_ANY 2   /* there are some, after which the program goes on */
#define GOMPY_HANDLERS_HERE 4  /* of these, some that run on the program's own stack */
#define GOMPY_HANDLERS_BLOCK 8 /* a signal of the watch's is blocked there, or now: it would end the program */

static void gompy_on_watch (int signo, siginfo_t *info, void *context);

/* What was there before ours when another handler was set over that.  */
static struct gompy_kernel_action gompy_under_actions[3];

static void
gompy_note_over (int i, const struct gompy_kernel_action *now)
{
  if (now->handler != gompy_old_actions[i].handler)
    gompy_under_actions[i] = gompy_old_actions[i];
}

/* Put back the handler that was there before ours, unless another has been set meanwhile: the emulated GPU's threads do
   that, for kernels that the program launches itself, and for those that run while pages are held.  */
static void
gompy_restore_action (int i)
{
  struct gompy_kernel_action now;
  gompy_set_action (i, &gompy_old_actions[i], &now);
  if (now.handler == gompy_on_watch)
    return;
  gompy_note_over (i, &now);
  gompy_set_action (i, &now, NULL);
}

/* The watch goes on behind such a kernel: ours comes over that handler.  */
static void
gompy_renew_action (int i, const struct gompy_kernel_action *ours)
{
  struct gompy_kernel_action now;
  gompy_set_action (i, ours, &now);
  if (now.handler == gompy_on_watch)
    return;
  gompy_note_over (i, &now);
  gompy_old_actions[i] = now;
}

/* The watch has ended, and who has the signal now gets it.  What is no fault does not happen again by itself.  */
static void
gompy_send_again (int signo, siginfo_t *info)
{
  if (signo != SIGSEGV || info->si_code <= 0)
    gompy_raw_call (SYS_rt_tgsigqueueinfo, getpid (), gompy_raw_call (SYS_gettid, 0, 0, 0, 0, 0, 0), signo,
                    (long) info, 0, 0);
}

/* A handler that was set over ours hands on a signal, and there is no watch: who had it before ours gets it.  Where
   that hands it back it was set over ours, and what was below both gets it.  */
static void
gompy_hand_on (int signo, siginfo_t *info, void *context)
{
  const struct gompy_kernel_action *to;
  int i = 0, again = gompy_comes_back (context);
  while (gompy_watch_signals[i] != signo)
    i++;
  to = again ? &gompy_under_actions[i] : &gompy_old_actions[i];
  if (to->handler == (void *) SIG_DFL || (again && to->handler == gompy_old_actions[i].handler)
      || (to->handler == (void *) SIG_IGN && info->si_code > 0)) /* a fault cannot be ignored */
    {
      signal (signo, SIG_DFL);
      gompy_send_again (signo, info);
    }
  else if (to->handler != (void *) SIG_IGN)
    {
      if (!again)
        gompy_begin_handing (context);
      to->handler (signo, info, context);
      if (!again)
        gompy_end_handing ();
    }
}

static int
gompy_blocks_watch (const sigset_t *mask)
{
  for (unsigned i = 0; i < 3; i++)
    if (sigismember (mask, gompy_watch_signals[i]) == 1)
      return 1;
  return 0;
}

/* Handlers of faults end the program; so does the one that gfortran's library has for all that end a program, SIGQUIT
   too.  */
static int
gompy_is_fault (int signo)
{
  return signo == SIGILL || signo == SIGFPE || signo == SIGBUS || signo == SIGABRT;
}

/* GOMPY_HANDLERS_..., of all signals but the watch's own.  */
static int
gompy_find_handlers (void)
{
  struct sigaction a, fault;
  sigset_t mask;
  int found = GOMPY_HANDLERS_KNOWN;
  if (sigaction (SIGILL, NULL, &fault) != 0 || sigprocmask (SIG_BLOCK, NULL, &mask) != 0)
    return GOMPY_HANDLERS_KNOWN | GOMPY_HANDLERS_ANY | GOMPY_HANDLERS_HERE | GOMPY_HANDLERS_BLOCK;
  if (gompy_blocks_watch (&mask))
    found |= GOMPY_HANDLERS_BLOCK;
  for (int i = 1; i <= SIGRTMAX; i++)
    {
      /* what the C library keeps for itself cannot be asked for */
      if (i == SIGSEGV || i == SIGTRAP || i == SIGSYS || sigaction (i, NULL, &a) != 0 || a.sa_handler == SIG_DFL
	  || a.sa_handler == SIG_IGN)
	continue;
      if (gompy_blocks_watch (&a.sa_mask))
	found |= GOMPY_HANDLERS_BLOCK;
      if (gompy_is_fault (i) || a.sa_handler == fault.sa_handler)
	continue;
      found |= GOMPY_HANDLERS_ANY;
      if (!(a.sa_flags & SA_ONSTACK))
	found |= GOMPY_HANDLERS_HERE;
    }
  return found;
}

static int
gompy_has_handlers (int which)
{
  if (!gompy_handlers_seen)
    {
      gompy_handlers_seen = gompy_find_handlers ();
      gompy_known_count = 0;
    }
  return (gompy_handlers_seen & which) != 0;
}

/* The watch begins or ends: a handler that came in the middle would close again what has been opened, or have it
   closed with nobody who knows.  Whether handlers are kept out until gompy_let_handlers_in.  */
static int
gompy_keep_handlers_out (unsigned long *before)
{
  unsigned long all = GOMPY_WATCH_MASK;
  if (gompy_watch_handles || (gompy_handlers_seen && !(gompy_handlers_seen & GOMPY_HANDLERS_ANY)))
    return 0;
  gompy_raw_call (SYS_rt_sigprocmask, SIG_SETMASK, (long) &all, (long) before, 8, 0, 0);
  return 1;
}

static void
gompy_let_handlers_in (const unsigned long *before)
{
  gompy_raw_call (SYS_rt_sigprocmask, SIG_SETMASK, (long) before, 0, 8, 0, 0);
}

#endif
