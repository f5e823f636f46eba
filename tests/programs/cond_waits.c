/* Preloaded: notes each wait for a condition that has an end, with when it began, which end was asked for, when it ended
   (ns of CLOCK_MONOTONIC), and whether the time had run out.  */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { MOST = 100000 };

struct wait
{
  int64_t begin, asked, end, timed_out;
} cond_waits[MOST];

int64_t cond_waits_noted;

static int64_t
ns (const struct timespec *t)
{
  return t->tv_sec * 1000000000ll + t->tv_nsec;
}

static int64_t
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return ns (&t);
}

int
pthread_cond_clockwait (pthread_cond_t *condition, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until)
{
  static int (*real) (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
  struct wait one = { .begin = now (), .asked = ns (until) };
  if (!real)
    real = dlsym (RTLD_NEXT, "pthread_cond_clockwait");
  int status = real (condition, lock, clock, until);
  one.end = now ();
  one.timed_out = status == ETIMEDOUT;
  if (cond_waits_noted < MOST)
    {
      cond_waits[cond_waits_noted] = one; /* the caller has its lock again: one at a time */
      __atomic_add_fetch (&cond_waits_noted, 1, __ATOMIC_RELEASE);
    }
  return status;
}
