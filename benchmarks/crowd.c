/* What regions cost where processors are shared.  One JSON object on standard output, nanoseconds.

   crowd launch|nowait [LOOPS [pinned]]: LOOPS busy loops run meanwhile, on whatever processor or on the last one of
   those that this program may use.  Beside the cost of an empty region stands a yardstick: how long two threads on one
   processor take to wake each other by futexes and be back, measured before the loops start.  */

#define _GNU_SOURCE
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

enum { BATCHES = 60, LAUNCHES = 200, TRIPS = 3000, REGIONS = 1000, NOWAIT_BATCHES = 20, LOOPS = 64 };

static unsigned turn; /* whose turn it is: the main thread's when even */

static void
hand_over (unsigned mine)
{
  __atomic_store_n (&turn, mine + 1, __ATOMIC_RELEASE);
  syscall (SYS_futex, &turn, FUTEX_WAKE, 1, NULL, NULL, 0);
  while (__atomic_load_n (&turn, __ATOMIC_ACQUIRE) == mine + 1)
    syscall (SYS_futex, &turn, FUTEX_WAIT, mine + 1, NULL, NULL, 0);
}

static void *
partner (void *unused)
{
  while (__atomic_load_n (&turn, __ATOMIC_ACQUIRE) == 0)
    syscall (SYS_futex, &turn, FUTEX_WAIT, 0, NULL, NULL, 0);
  for (unsigned i = 0; i < TRIPS; i++)
    if (i < TRIPS - 1)
      hand_over (2 * i + 1);
  hand_over (2 * TRIPS - 1);
  return unused;
}

static void
use_one (int last)
{
  cpu_set_t all, one;
  int cpu = last ? CPU_SETSIZE - 1 : 0;
  sched_getaffinity (0, sizeof all, &all);
  while (!CPU_ISSET (cpu, &all))
    cpu += last ? -1 : 1;
  CPU_ZERO (&one);
  CPU_SET (cpu, &one);
  sched_setaffinity (0, sizeof one, &one);
}

/* Nanoseconds for there and back by futexes on one processor; in a child, so that this process stays as it is.  */
static double
round_trip (void)
{
  int ends[2];
  double took = 0;
  if (pipe (ends))
    return 0;
  pid_t child = fork ();
  if (child == 0)
    {
      pthread_t other;
      use_one (0);
      pthread_create (&other, NULL, partner, NULL);
      sched_yield ();
      double begin = now ();
      for (unsigned i = 0; i < TRIPS - 1; i++)
	hand_over (2 * i);
      took = (now () - begin) / (TRIPS - 1);
      if (write (ends[1], &took, sizeof took) < 0)
	_exit (1);
      _exit (0);
    }
  waitpid (child, NULL, 0);
  if (read (ends[0], &took, sizeof took) < 0)
    took = 0;
  close (ends[0]);
  close (ends[1]);
  return took;
}

static void
busy_loop (int pinned)
{
  pid_t child = fork ();
  if (child)
    return;
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (pinned)
    use_one (1);
  for (;;)
    __asm__ volatile ("");
}

static double
processor_time (void)
{
  struct rusage own, others;
  getrusage (RUSAGE_SELF, &own);
  getrusage (RUSAGE_CHILDREN, &others);
  return 1e9 * (own.ru_utime.tv_sec + own.ru_stime.tv_sec) + 1e3 * (own.ru_utime.tv_usec + own.ru_stime.tv_usec);
}

static void
launch (void)
{
#pragma omp target
  ;
}

static void
launches (void)
{
  static double times[BATCHES];
  double sum = 0;
  for (int i = 0; i < BATCHES; i++)
    {
      double begin = now ();
      for (int j = 0; j < LAUNCHES; j++)
	launch ();
      sum += times[i] = (now () - begin) / LAUNCHES;
    }
  qsort (times, BATCHES, sizeof *times, by_size);
  printf ("\"median\": %.0f, \"worst\": %.0f, \"mean\": %.0f", times[BATCHES / 2], times[BATCHES - 1], sum / BATCHES);
}

static void
nowait (void)
{
  static double times[NOWAIT_BATCHES];
  double sum = 0, used = processor_time ();
  for (int i = 0; i < NOWAIT_BATCHES; i++)
    {
      double begin = now ();
      for (int j = 0; j < REGIONS; j++)
	{
#pragma omp target nowait
	  ;
	}
#pragma omp taskwait
      sum += times[i] = (now () - begin) / REGIONS;
    }
  used = processor_time () - used;
  qsort (times, NOWAIT_BATCHES, sizeof *times, by_size);
  printf ("\"median\": %.0f, \"worst\": %.0f, \"mean\": %.0f, \"host_cpu\": %.0f", times[NOWAIT_BATCHES / 2],
	  times[NOWAIT_BATCHES - 1], sum / NOWAIT_BATCHES, used / (NOWAIT_BATCHES * REGIONS));
}

int
main (int argc, char **argv)
{
  int on_host = 1, loops = argc > 2 ? atoi (argv[2]) : 0;
  double trip = round_trip ();
  for (int i = 0; i < loops && i < LOOPS; i++)
    busy_loop (argc > 3);
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  printf ("{\"round_trip\": %.0f, \"on_host\": %d, ", trip, on_host);
  if (argc > 1 && strcmp (argv[1], "nowait") == 0)
    nowait ();
  else
    launches ();
  printf ("}\n");
  return 0;
}
