/* Rounds in which examples/gpu/thread_times.h counts less than what two threads that do not sleep take.  */
#include "../../examples/gpu/thread_times.h"
#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 100, STEPS = 1000000 };
static int turn, done;
static double least = 1e9, others[ROUNDS];

static double
thread_ms (void)
{
  struct timespec now;
  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void
work (void)
{
  for (volatile int i = 0; i < STEPS; i++)
    ;
}

/* The processor's own speed changes, too, where others share it: `least` is of before and after the rounds.  */
static void
measure (void)
{
  for (int i = 0; i < 20; i++)
    {
      double start = thread_ms ();
      work ();
      double took = thread_ms () - start;
      least = took < least ? took : least;
    }
}

/* It asks no clock while it works: its own would bring all up to date.  */
static void *
other (void *argument)
{
  for (;;)
    {
      while (!__atomic_load_n (&turn, __ATOMIC_ACQUIRE))
        ;
      work ();
      __atomic_store_n (&turn, 0, __ATOMIC_RELAXED);
      __atomic_store_n (&done, 1, __ATOMIC_RELEASE);
    }
  return argument;
}

int
main (void)
{
  pthread_t thread;
  int missed = 0;
  measure ();
  pthread_create (&thread, NULL, other, NULL);
  for (int round = 0; round < ROUNDS; round++)
    {
      double all = cpu_ms (1), own = thread_ms ();
      __atomic_store_n (&done, 0, __ATOMIC_RELAXED);
      __atomic_store_n (&turn, 1, __ATOMIC_RELEASE);
      while (!__atomic_load_n (&done, __ATOMIC_ACQUIRE))
        ;
      own = thread_ms () - own;
      others[round] = cpu_ms (0) - all - own;
    }
  measure ();
  for (int round = 0; round < ROUNDS; round++)
    missed += others[round] < least / 4;
  printf ("%d missed\n", missed);
}
