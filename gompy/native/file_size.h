/* Files that cannot grow: above a limit (ulimit -f) the kernel sends SIGXFSZ besides the error, which would end the
   program for a file that it knows nothing of.  Here it is the error EFBIG alone.  */
#ifndef GOMPY_NATIVE_FILE_SIZE_H
#define GOMPY_NATIVE_FILE_SIZE_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* The signal comes to the thread that writes.  BEFORE: its signals, for gompy_size_end.  */
static inline void
gompy_size_begin (sigset_t *before)
{
  sigset_t one;
  sigemptyset (&one);
  sigaddset (&one, SIGXFSZ);
  pthread_sigmask (SIG_BLOCK, &one, before);
}

/* FAILED: a write in between may have met the limit.  errno stays.  */
static inline void
gompy_size_end (const sigset_t *before, int failed)
{
  int error = errno;
  if (failed && !sigismember (before, SIGXFSZ))
    {
      struct timespec now = { 0, 0 };
      sigset_t one;
      sigemptyset (&one);
      sigaddset (&one, SIGXFSZ);
      sigtimedwait (&one, NULL, &now);
    }
  pthread_sigmask (SIG_SETMASK, before, NULL);
  errno = error;
}

/* write (), past whoever has put a function of his own in its place.  */
static inline ssize_t
gompy_write (int fd, const void *from, size_t n)
{
  sigset_t before;
  gompy_size_begin (&before);
  ssize_t done = syscall (SYS_write, fd, from, n);
  gompy_size_end (&before, done < 0 && errno == EFBIG);
  return done;
}

static inline ssize_t
gompy_pwrite (int fd, const void *from, size_t n, off_t at)
{
  sigset_t before;
  gompy_size_begin (&before);
  ssize_t done = pwrite (fd, from, n, at);
  gompy_size_end (&before, done < 0 && errno == EFBIG);
  return done;
}

static inline int
gompy_resize (int fd, off_t size)
{
  sigset_t before;
  gompy_size_begin (&before);
  int done = ftruncate (fd, size);
  gompy_size_end (&before, done != 0 && errno == EFBIG);
  return done;
}

#endif
