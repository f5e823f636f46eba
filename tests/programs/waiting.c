/* How host and device wait for each other; the first argument says what to do.  */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int wrong;

#pragma omp declare target
static void
pass (long ns)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  for (long end = t.tv_sec * 1000000000L + t.tv_nsec + ns; t.tv_sec * 1000000000L + t.tv_nsec < end;)
    clock_gettime (CLOCK_MONOTONIC, &t);
}
#pragma omp end declare target

/* The number of threads of a process, each given the mask, if there is one.  */
static int
threads_of (const char *pid, const cpu_set_t *mask)
{
  char path[64];
  int count = 0;
  snprintf (path, sizeof path, "/proc/%.20s/task", pid);
  DIR *tasks = opendir (path);
  for (struct dirent *e; tasks && (e = readdir (tasks));)
    if (e->d_name[0] != '.')
      {
	count++;
	if (mask)
	  sched_setaffinity (atoi (e->d_name), sizeof *mask, mask);
      }
  if (tasks)
    closedir (tasks);
  return count;
}

static cpu_set_t
first_of (cpu_set_t mask)
{
  int cpu = 0;
  while (!CPU_ISSET (cpu, &mask))
    cpu++;
  CPU_ZERO (&mask);
  CPU_SET (cpu, &mask);
  return mask;
}

/* Process number of the device.  */
static const char *
device (void)
{
  static char child[32];
  char path[64];
  snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
  FILE *children = fopen (path, "r");
  wrong |= !children || fscanf (children, "%31s", child) != 1;
  if (children)
    fclose (children);
  return child;
}

/* Host and device, which were started with all processors, on one.  */
static void
share_one (void)
{
  cpu_set_t one;
  sched_getaffinity (0, sizeof one, &one);
  one = first_of (one);
  threads_of (device (), &one);
  threads_of ("self", &one);
}

/* Whether all threads of a process have the mask; one that moves hasn't for a moment.  */
static int
have_mask (const char *pid, const cpu_set_t *mask)
{
  char path[64];
  int equal = 1;
  snprintf (path, sizeof path, "/proc/%.20s/task", pid);
  DIR *tasks = opendir (path);
  for (struct dirent *e; tasks && (e = readdir (tasks));)
    if (e->d_name[0] != '.')
      {
	cpu_set_t its;
	equal &= sched_getaffinity (atoi (e->d_name), sizeof its, &its) == 0 && CPU_EQUAL (&its, mask);
      }
  if (tasks)
    closedir (tasks);
  return equal;
}

/* How often the caller or the device has left the first processor, as call_counter.c counts it; 0 without that.  */
static unsigned long
departures (void)
{
  unsigned long (*counted) (void) = (unsigned long (*) (void)) dlsym (RTLD_DEFAULT, "departures_counted");
  return counted ? counted () : 0;
}

/* The device begins on the host's processor n times, may go away, and comes back in the rest.  Regions take ns.
   It begins there up to `times` times before each rest, as the system, too, may part the two, or have them wait.  */
static void
part (int n, long ns, int times)
{
  cpu_set_t all, one;
  int x[1] = { 0 }, tries = 1000, launches = 0;
  sched_getaffinity (0, sizeof all, &all);
  one = first_of (all);
#pragma omp target enter data map(to: x)
  for (int i = 0; i < n; i++)
    {
      unsigned long before = departures ();
#pragma omp target
      x[0]++;
      for (int k = 0; k < times && departures () == before; k++)
	{
	  share_one ();
	  threads_of (device (), &all);
	  for (int j = 0; j < 300; j++, launches++)
	    {
#pragma omp target
	      {
		if (ns)
		  pass (ns);
		x[0]++;
	      }
	    }
	}
      usleep (i % 2 ? 5000 : 8000); /* a move is under way no more, and another one is due; and there is no rhythm */
    }
  while (!have_mask (device (), &all) && --tries)
    usleep (1000);
  wrong |= tries == 0 || !have_mask ("self", &one);
#pragma omp target exit data map(from: x)
  wrong |= x[0] != n + launches;
}

static void
apart (int n)
{
  part (n, 0, 20);
}

static void
work (int n)
{
  part (n, 50000, 1);
}

/* Regions after rests of one length, which takes this thread 3 ms; how many of them the system ended at another time.  */
static void
rests (int n)
{
  int x[1] = { 0 }, other = 0;
  double length = 0;
#pragma omp target enter data map(to: x)
  for (int i = 0; i < n; i++)
    {
      double begin = omp_get_wtime (), rest;
      usleep (3000);
      rest = omp_get_wtime () - begin;
      other += i > 0 && fabs (rest - length) > 50e-6;
      length = i == 0 ? rest : length + (rest - length) / 4;
#pragma omp target
      x[0]++;
    }
#pragma omp target exit data map(from: x)
  printf ("%d other rests\n", other);
  wrong |= x[0] != n;
}

static void
launches (int n)
{
  int x[1] = { 0 };
#pragma omp target enter data map(to: x)
#pragma omp target
  x[0]++;
  share_one ();
  for (int i = 1; i < n; i++)
    {
#pragma omp target
      x[0]++;
    }
#pragma omp target exit data map(from: x)
  wrong |= x[0] != n;
}

static void
teams (int n)
{
  int x[2] = { 0, 0 };
#pragma omp target enter data map(to: x)
  for (int i = 0; i < n; i++)
    {
      if (i == 1)
	share_one ();
#pragma omp target teams num_teams(2)
      x[omp_get_team_num ()]++;
    }
#pragma omp target exit data map(from: x)
  wrong |= x[0] != n || x[1] != n;
}

/* A batch of short regions that nobody waits for one by one.  */
static void
batch (int n)
{
  int x[1] = { 0 }, most = 0;
#pragma omp target enter data map(to: x)
  for (int i = 0; i < n; i++)
    {
#pragma omp target nowait
      __atomic_add_fetch (&x[0], 1, __ATOMIC_RELAXED);
      if (i % 100 == 99)
	{
	  int now = threads_of ("self", NULL);
	  most = now > most ? now : most;
	}
    }
#pragma omp taskwait
#pragma omp target exit data map(from: x)
  wrong |= x[0] != n;
  printf ("%d threads\n", most);
}

/* Regions that can't end one after another: each waits until all have begun.  */
static void
together (int n)
{
  int begun[1] = { 0 };
#pragma omp target enter data map(to: begun)
  for (int i = 0; i < n; i++)
    {
#pragma omp target nowait firstprivate(n)
      {
	__atomic_add_fetch (&begun[0], 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n (&begun[0], __ATOMIC_SEQ_CST) < n)
	  usleep (100);
      }
    }
  for (int tries = 6000; begun[0] < n && --tries;) /* the host need not help */
    {
      usleep (10000);
#pragma omp target update from(begun)
    }
  printf ("%d begun\n", begun[0]);
#pragma omp taskwait
#pragma omp target exit data map(delete: begun)
}

/* Everything at random: several threads, short and long regions, with and without waiting, with and without order.  */
static void
mixture (int rounds)
{
  static int a[4][600];
  unsigned seed = 1;
  for (int r = 0; r < rounds; r++)
    {
      int n = 1 + rand_r (&seed) % 600, kind = rand_r (&seed) % 5;
#pragma omp parallel num_threads(1 + rand_r (&seed) % 4)
      {
	int *x = a[omp_get_thread_num ()];
	unsigned s = seed + 77 * omp_get_thread_num ();
	for (int i = 0; i < n; i++)
	  x[i] = i;
#pragma omp target enter data map(to: x[:n])
	for (int i = 0; i < n; i++)
	  {
	    int us = kind != 0 && rand_r (&s) % 100 == 0 ? rand_r (&s) % 300 : 0;
	    if (kind == 3 && rand_r (&s) % 20 == 0)
	      usleep (rand_r (&s) % 300);
	    if (kind == 4 && i % 7 == 0)
	      {
#pragma omp target nowait map(to: x[:n]) depend(inout: x[i]) firstprivate(i)
		x[i]++;
	      }
	    else if (i % 50 == 49)
	      {
#pragma omp target map(to: x[:n])
		x[i]++;
	      }
	    else
	      {
#pragma omp target nowait map(to: x[:n]) firstprivate(i, us)
		{
		  if (us)
		    usleep (us);
		  x[i]++;
		}
	      }
	    if (rand_r (&s) % 200 == 0)
	      {
#pragma omp taskwait
	      }
	  }
#pragma omp taskwait
#pragma omp target exit data map(from: x[:n])
	for (int i = 0; i < n; i++)
	  if (x[i] != i + 1)
	    wrong = 1;
      }
    }
}

/* More regions at once than the queue has room for, behind one that lasts.  */
static void
full (int n)
{
  int x[1] = { 0 };
#pragma omp target enter data map(to: x)
#pragma omp parallel num_threads(8)
#pragma omp single
  {
#pragma omp target nowait
    usleep (50000);
    for (int i = 0; i < n; i++)
      {
#pragma omp target nowait
	__atomic_add_fetch (&x[0], 1, __ATOMIC_RELAXED);
      }
  }
#pragma omp target exit data map(from: x)
  wrong |= x[0] != n;
}

/* Slices, in nanoseconds: of the thread that runs a region, of one that the region starts.  */
static void
slices (int unused)
{
  struct { unsigned size, policy; unsigned long flags; int nice; unsigned priority; unsigned long runtime, more[2]; } a;
  unsigned long slice[2] = { 0, 0 };
  int nice[2] = { 0, 0 };
#pragma omp target parallel num_threads (2) map(tofrom: slice, nice) private (a)
  if (syscall (SYS_sched_getattr, 0, &a, sizeof a, 0) == 0)
    {
      slice[omp_get_thread_num ()] = a.runtime;
      nice[omp_get_thread_num ()] = a.nice;
    }
  printf ("%lu %lu, %d %d\n", slice[0], slice[1], nice[0], nice[1]);
  wrong |= unused < 0;
}

int
main (int argc, char **argv)
{
  static const struct { const char *name; void (*run) (int); } all[]
    = { { "launches", launches }, { "teams", teams }, { "batch", batch }, { "together", together }, { "mixture", mixture },
	{ "full", full }, { "apart", apart }, { "work", work },
	{ "slices", slices }, { "rests", rests } };
  if (argc < 3)
    return 2;
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp (argv[1], all[i].name) == 0)
      all[i].run (atoi (argv[2]));
  puts (wrong ? "wrong" : "right");
  return wrong;
}
