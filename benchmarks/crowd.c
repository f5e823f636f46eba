/* What regions cost where processors are shared.  One JSON object on standard output, nanoseconds.

   crowd launch [LOOPS [pinned]]: empty regions, while so many busy loops run, on whatever processor or on the last one that
   this program may use.  Beside them stands a yardstick, measured before the loops start: how long two threads on one
   processor take to wake each other by futexes and be back.
   crowd nowait: batches of empty regions that are waited for together; their processor time is the device's as well,
   where that is a process.  */

#define _GNU_SOURCE
#include <dirent.h>
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

/* Nanoseconds that the threads of a process have run.  */
static double
time_of (const char *pid)
{
  char path[64];
  double sum = 0, one;
  snprintf (path, sizeof path, "/proc/%.20s/task", pid);
  DIR *tasks = opendir (path);
  for (struct dirent *e; tasks && (e = readdir (tasks));)
    if (e->d_name[0] != '.')
      {
	char name[400];
	snprintf (name, sizeof name, "%s/%s/schedstat", path, e->d_name);
	FILE *f = fopen (name, "r");
	if (f && fscanf (f, "%lf", &one) == 1)
	  sum += one;
	if (f)
	  fclose (f);
      }
  if (tasks)
    closedir (tasks);
  return sum;
}

/* The same for this process and its children.  */
static double
processor_time (void)
{
  char path[64], child[32];
  double sum = time_of ("self");
  snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
  FILE *children = fopen (path, "r");
  while (children && fscanf (children, "%31s", child) == 1)
    sum += time_of (child);
  if (children)
    fclose (children);
  return sum;
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
  printf ("\"median\": %.0f, \"worst\": %.0f, \"mean\": %.0f, \"processor_time\": %.0f", times[NOWAIT_BATCHES / 2],
	  times[NOWAIT_BATCHES - 1], sum / NOWAIT_BATCHES, used / (NOWAIT_BATCHES * REGIONS));
}

int
main (int argc, char **argv)
{
  int on_host = 1, nowaits = argc > 1 && strcmp (argv[1], "nowait") == 0, loops = argc > 2 ? atoi (argv[2]) : 0;
  double trip = nowaits ? 0 : round_trip ();
  for (int i = 0; i < loops && i < LOOPS; i++)
    busy_loop (argc > 3);
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  printf ("{\"round_trip\": %.0f, \"on_host\": %d, ", trip, on_host);
  if (nowaits)
    nowait ();
  else
    launches ();
  printf ("}\n");
  return 0;
}
