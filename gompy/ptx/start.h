/* Starting the compiler's process: what has to be done between vfork and exec, in the memory of the program.  */
#ifndef GOMPY_PTX_START_H
#define GOMPY_PTX_START_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gompy/native/descriptors.h"

/* Descriptors of the compiler's process besides the standard ones (store.py).  */
enum { GOMPY_FOLDER_FD = 3, GOMPY_MEMORY_FD = 4, GOMPY_FIRST_FD = 10 };

/* How much address space the compiler may have: half of the machine's memory, 4 GiB at least, 32 GiB at most.  */
static uint64_t
gompy_compiler_room (void)
{
  uint64_t half = (uint64_t) sysconf (_SC_PHYS_PAGES) * (uint64_t) sysconf (_SC_PAGESIZE) / 2;
  return half < 4ull << 30 ? 4ull << 30 : half > 32ull << 30 ? 32ull << 30 : half;
}

/* In the child: nothing but system calls.  WAS: the program's mask.  */
static void
gompy_become (const char *program, char **arguments, char **environment, const int fds[4], pid_t parent, int talks,
              volatile int *failure)
{
  const uint64_t usual[4] = { 0 };      /* the kernel's struct sigaction with SIG_DFL */
  struct rlimit room;
  sigset_t none;
  /* Also what the program ignores: the compiler waits for its own children.  By system call, for glibc's sigaction
     leaves out its own two signals, of which its posix_spawn has one ignored.  */
  for (int number = 1; number < NSIG; number++)
    syscall (SYS_rt_sigaction, number, usual, NULL, (size_t) 8);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  prctl (PR_SET_PDEATHSIG, SIGKILL);    /* the thread that called waits for us: with it the program ends */
  if (getppid () != parent)
    _exit (127);
  if (getrlimit (RLIMIT_AS, &room) == 0)
    {
      uint64_t most = gompy_compiler_room ();
      if (room.rlim_cur > most)
        room.rlim_cur = most;
      if (room.rlim_max > most)
        room.rlim_max = most;
      setrlimit (RLIMIT_AS, &room);
    }
  for (int i = 0; i < 2; i++)
    if (gompy_place_for_child (fds[i], i) < 0)
      goto failed;
  if (!talks)
    gompy_place_for_child (-1, 2);
  if (fds[2] < 0)
    close (GOMPY_FOLDER_FD);
  else if (gompy_place_for_child (fds[2], GOMPY_FOLDER_FD) < 0)
    goto failed;
  if (gompy_place_for_child (fds[3], GOMPY_MEMORY_FD) < 0)
    goto failed;
  syscall (SYS_close_range, GOMPY_MEMORY_FD + 1, ~0u, 0);
  execvpe (program, arguments, environment);
failed:
  *failure = errno;
  _exit (127);
}

/* Start PROGRAM with FDS (requests, answers, the cache's folder or -1, the file in memory) and without the program's
   other descriptors, signal handling and limits; its errors are seen if it TALKS.  It ends with the program.
   The process, or -1 with errno.  */
static pid_t
gompy_start (const char *program, char **arguments, char **environment, const int fds[4], int talks)
{
  sigset_t all, was;
  volatile int failure = 0;
  pid_t parent = getpid ();
  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &was);      /* no handler of the program runs in the child */
  pid_t child = vfork ();
  if (child == 0)
    gompy_become (program, arguments, environment, fds, parent, talks, &failure);
  int error = errno;
  pthread_sigmask (SIG_SETMASK, &was, NULL);
  if (child > 0 && failure)
    {
      while (waitpid (child, NULL, 0) < 0 && errno == EINTR)
        ;
      errno = failure;
      return -1;
    }
  errno = error;
  return child;
}

/* Read what the process says; not only the end of the pipe tells that it says no more, for a child that another thread
   forks meanwhile may have inherited the other end.  The bytes; 0: it has ended; -1 with errno.  */
static ssize_t
gompy_hear (int fd, pid_t child, char *text, size_t size)
{
  for (int gone = 0;;)
    {
      struct pollfd one = { .fd = fd, .events = POLLIN };
      int ready = poll (&one, 1, gone ? 0 : 200);
      if (ready < 0 && errno != EINTR)
        return -1;
      if (ready > 0)
        {
          ssize_t count = read (fd, text, size);
          if (count >= 0 || errno != EINTR)
            return count;
        }
      else if (ready == 0)
        {
          siginfo_t info;
          if (gone)
            return 0;
          info.si_pid = 0;
          gone = waitid (P_PID, child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ? errno == ECHILD : info.si_pid != 0;
        }
    }
}

#endif
