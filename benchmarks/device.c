/* Microbenchmarks of a device, the same source for gompcc and clang.

   Without arguments it is a server, so that two builds can take turns every few milliseconds: it reads the name of a
   measurement from standard input and answers with one line of times, nanoseconds for one operation, one time for each of
   some batches.  With an argument ("first" and others, below) it
   does something once with 256 MiB of a device's memory that nobody had before, and prints that time.  */

#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timing.h"

enum { SMALL = 100, OBJECTS = 64, LARGE = 256 << 20, BATCHES = 15 };

static double times[BATCHES];
static double *a, *b, *c, *object[OBJECTS];
static char *large, *device_large;
static int device;

static cpu_set_t allowed;

/* Put a process's threads on some processors.  */
static void
pin (const char *pid, const cpu_set_t *set)
{
  char path[64];
  DIR *tasks;
  snprintf (path, sizeof path, "/proc/%.20s/task", pid);
  if (!(tasks = opendir (path)))
    return;
  for (struct dirent *e; (e = readdir (tasks));)
    if (e->d_name[0] != '.')
      sched_setaffinity (atoi (e->d_name), sizeof *set, set);
  closedir (tasks);
}

/* The host's thread on some of its processors, a device that is a process (a child of this one) on others.  */
static void
pin_both (const cpu_set_t *host, const cpu_set_t *other)
{
  char path[64], child[32];
  FILE *children;
  snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
  if ((children = fopen (path, "r")))
    {
      while (fscanf (children, "%31s", child) == 1)
	pin (child, other);
      fclose (children);
    }
  sched_setaffinity (0, sizeof *host, host);
}

/* The host on the first of its processors, a device on the last.  */
static void
take_places (void)
{
  cpu_set_t host, other;
  int first, last;
  for (first = 0; !CPU_ISSET (first, &allowed); first++)
    ;
  for (last = CPU_SETSIZE - 1; !CPU_ISSET (last, &allowed); last--)
    ;
  CPU_ZERO (&host);
  CPU_ZERO (&other);
  CPU_SET (first, &host);
  CPU_SET (last, &other);
  pin_both (&host, &other);
}

/* Both where they and the system want: what waking a thread costs depends on where it sleeps.  */
static void
leave_places (void)
{
  pin_both (&allowed, &allowed);
}

static void
launch (void)
{
#pragma omp target
  ;
}

static void
launch_three_new (void)
{
#pragma omp target map(to: a[:SMALL], b[:SMALL]) map(from: c[:SMALL])
  c[0] = a[0] + b[0];
}

static void
update_to (void)
{
#pragma omp target update to(a[:SMALL])
}

static void
update_from (void)
{
#pragma omp target update from(a[:SMALL])
}

static void
data_of_present (void)
{
#pragma omp target data map(tofrom: a[:SMALL])
  __asm__ volatile ("" ::: "memory");
}

static void
look_up (void)
{
  static int turn;
  if (!omp_target_is_present (object[turn++ % OBJECTS] + 1, device))
    abort ();
}

static void
enter (double *p)
{
#pragma omp target enter data map(to: p[:SMALL])
}

static void
leave (double *p)
{
#pragma omp target exit data map(from: p[:SMALL])
}

static void
enter_alloc (double *p)
{
#pragma omp target enter data map(alloc: p[:SMALL])
}

static void
leave_release (double *p)
{
#pragma omp target exit data map(release: p[:SMALL])
}

static void
alloc_free_small (void)
{
  omp_target_free (omp_target_alloc (1024, device), device);
}

static void
alloc_free_large (void)
{
  omp_target_free (omp_target_alloc (4 << 20, device), device);
}

static void
copy_to (void)
{
  if (omp_target_memcpy (device_large, large, LARGE, 0, 0, device, omp_get_initial_device ()))
    abort ();
}

static void
copy_from (void)
{
  if (omp_target_memcpy (large, device_large, LARGE, 0, 0, omp_get_initial_device (), device))
    abort ();
}

static void
copy_small (void)
{
  if (omp_target_memcpy (device_large, large, 4096, 0, 0, device, omp_get_initial_device ()))
    abort ();
}

static void
alloc_copy_free (void)
{
  void *p = omp_target_alloc (LARGE, device);
  if (!p || omp_target_memcpy (p, large, LARGE, 0, 0, device, omp_get_initial_device ()))
    abort ();
  omp_target_free (p, device);
}

static void
map_large (void)
{
#pragma omp target enter data map(to: large[:LARGE])
#pragma omp target exit data map(from: large[:LARGE])
}

/* What comes after the first update of a buffer whose memory on the device nobody had before.  */
static void
begin_fresh (void)
{
#pragma omp target enter data map(alloc: large[:LARGE])
#pragma omp target update to(large[:LARGE])
}

static void
second_update (void)
{
#pragma omp target update to(large[:LARGE])
}

static void
touch_pages (void)
{
#pragma omp target map(alloc: large[:LARGE])
  for (size_t i = 0; i < LARGE; i += 4096)
    large[i] = 2;
}

static void
first_use (void)
{
  begin_fresh ();
  touch_pages ();
}

static void
enter_a (void)
{
  enter (a);
}

static void
leave_a (void)
{
  leave (a);
}

static void
enter_three (void)
{
  enter (a);
  enter (b);
  enter (c);
}

static void
leave_three (void)
{
  leave (a);
  leave (b);
  leave (c);
}

static void
enter_all (void)
{
  for (int i = 0; i < OBJECTS; i++)
    enter (object[i]);
}

static void
leave_all (void)
{
  for (int i = 0; i < OBJECTS; i++)
    leave (object[i]);
}

static void
alloc_device_large (void)
{
  device_large = omp_target_alloc (LARGE, device);
}

static void
make_device_large (void)
{
  alloc_device_large ();
  copy_to ();
}

static void
free_device_large (void)
{
  omp_target_free (device_large, device);
}

static void
rest (void)
{
  usleep (5000);
}

/* Not timed: `before`, `after`, one batch to warm up, and `pause` before each batch.  */
static const struct measurement
{
  const char *name;
  void (*operation) (void);
  int runs, batches; /* operations in a batch */
  void (*before) (void), (*after) (void), (*pause) (void);
} measurements[] = {
  { "launch", launch, 400, BATCHES, 0, 0, 0 },
  { "three-new", launch_three_new, 100, BATCHES, 0, 0, 0 },
  { "three-present", launch_three_new, 200, BATCHES, enter_three, leave_three, 0 },
  { "rested", launch, 1, 5, leave_places, take_places, rest },
  { "update-to", update_to, 400, BATCHES, enter_a, leave_a, 0 },
  { "update-from", update_from, 400, BATCHES, enter_a, leave_a, 0 },
  { "data-present", data_of_present, 200, BATCHES, enter_a, leave_a, 0 },
  { "look-up", look_up, 400, BATCHES, enter_all, leave_all, 0 },
  { "alloc-free-small", alloc_free_small, 400, BATCHES, 0, 0, 0 },
  { "alloc-free-large", alloc_free_large, 100, BATCHES, 0, 0, 0 },
  { "copy-4k", copy_small, 400, BATCHES, make_device_large, free_device_large, 0 },
  { "copy-to", copy_to, 1, 2, make_device_large, free_device_large, 0 },
  { "copy-from", copy_from, 1, 2, make_device_large, free_device_large, 0 },
  { "alloc-copy-free", alloc_copy_free, 1, 2, 0, 0, 0 },
  { "map-large", map_large, 1, 1, 0, 0, 0 },
};

/* Operations that only go together, each timed over all objects: enter data, exit data.  */
static const struct pair
{
  const char *name[2];
  void (*operation[2]) (double *);
} pairs[] = {
  { { "enter", "exit" }, { enter, leave } },
  { { "enter-alloc", "exit-release" }, { enter_alloc, leave_release } },
};

/* Of each a program does one, once.  */
static const struct first
{
  const char *name;
  void (*before) (void), (*operation) (void);
} firsts[] = {
  { "first", alloc_device_large, copy_to },
  { "first-second", begin_fresh, second_update },
  { "first-region", begin_fresh, touch_pages },
  { "first-use", 0, first_use },
};

static void
answer (int n)
{
  for (int i = 0; i < n; i++)
    printf ("%s%.1f", i ? " " : "", times[i]);
  putchar ('\n');
  fflush (stdout);
}

/* False: there is no such measurement.  */
static int
measure (const char *name)
{
  for (size_t i = 0; i < sizeof measurements / sizeof measurements[0]; i++)
    {
      const struct measurement *m = &measurements[i];
      if (strcmp (m->name, name))
	continue;
      if (m->before)
	m->before ();
      for (int k = 0; k < m->runs; k++) /* warm */
	m->operation ();
      for (int n = 0; n < m->batches; n++)
	{
	  double begin;
	  if (m->pause)
	    m->pause ();
	  begin = now ();
	  for (int k = 0; k < m->runs; k++)
	    m->operation ();
	  times[n] = (now () - begin) / m->runs;
	}
      if (m->after)
	m->after ();
      answer (m->batches);
      return 1;
    }
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    for (int half = 0; half < 2; half++)
      {
	if (strcmp (pairs[i].name[half], name))
	  continue;
	for (int n = -1; n < BATCHES; n++)
	  {
	    double begin, took[2];
	    for (int h = 0; h < 2; h++)
	      {
		begin = now ();
		for (int k = 0; k < OBJECTS; k++)
		  pairs[i].operation[h] (object[k]);
		took[h] = (now () - begin) / OBJECTS;
	      }
	    if (n >= 0)
	      times[n] = took[half];
	  }
	answer (BATCHES);
	return 1;
      }
  return 0;
}

int
main (int argc, char **argv)
{
  char line[64];
  int on_host = 1;
  a = calloc (SMALL, sizeof (double));
  b = calloc (SMALL, sizeof (double));
  c = calloc (SMALL, sizeof (double));
  large = malloc (LARGE);
  memset (large, 1, LARGE);
  device = omp_get_default_device ();
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  if (on_host)
    {
      fprintf (stderr, "device.c: the region ran on the host\n");
      return 1;
    }
  sched_getaffinity (0, sizeof allowed, &allowed);
  take_places ();
  for (size_t i = 0; argc > 1 && i < sizeof firsts / sizeof firsts[0]; i++)
    if (!strcmp (argv[1], firsts[i].name))
      {
	if (firsts[i].before)
	  firsts[i].before ();
	double begin = now ();
	firsts[i].operation ();
	printf ("%.1f\n", now () - begin);
	return 0;
      }
  for (int i = 0; i < OBJECTS; i++)
    object[i] = calloc (SMALL, sizeof (double));
  puts ("ready");
  fflush (stdout);
  while (fgets (line, sizeof line, stdin))
    {
      line[strcspn (line, "\n")] = 0;
      if (!measure (line))
	return 2;
    }
  return 0;
}
