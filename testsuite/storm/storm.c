/* Threads that map, unmap, update and launch at random, each against a model of its own in plain arrays.
   storm THREADS OPERATIONS SEED: so many operations in all, on every device there is.
   Prints what it did and how much memory both sides held; ends with status 1 at the first difference.  */
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARRAYS = 8, LENGTH = 96, SHARED = 16, MARKS = 10 };

/* An array of one thread: what the host and the device have, and what they should have.  */
struct array
{
  int host[LENGTH], wanted[LENGTH], device[LENGTH];
  int first, count, times;
};

struct worker
{
  pthread_t thread;
  uint64_t random;
  long operations;
  int device, number;
  struct array arrays[ARRAYS];
};

static int shared[SHARED][LENGTH];
static int devices;
static long resident[MARKS + 1];

static unsigned
random_below (struct worker *me, unsigned limit)
{
  me->random = me->random * 6364136223846793005u + 1442695040888963407u;
  return (unsigned) (me->random >> 33) % limit;
}

static void
wrong (struct worker *me, const char *what, int array, int at, int found, int wanted)
{
  fprintf (stderr, "storm: thread %d, device %d, array %d: %s [%d] is %d, not %d\n", me->number, me->device, array, what,
	   at, found, wanted);
  _exit (1);
}

static void
compare (struct worker *me, int number, const char *what)
{
  struct array *a = &me->arrays[number];
  for (int i = 0; i < LENGTH; i++)
    if (a->host[i] != a->wanted[i])
      wrong (me, what, number, i, a->host[i], a->wanted[i]);
}

static void
enter (struct worker *me, int number)
{
  struct array *a = &me->arrays[number];
  int *p = a->host;
  if (a->times == 0)
    {
      a->first = random_below (me, LENGTH);
      a->count = 1 + random_below (me, LENGTH - a->first);
      memcpy (a->device, a->wanted, sizeof a->device);
    }
  int first = a->first, count = a->count;
  #pragma omp target enter data map(to: p[first:count]) device(me->device)
  a->times++;
}

static void
leave (struct worker *me, int number)
{
  struct array *a = &me->arrays[number];
  int *p = a->host, first = a->first, count = a->count;
  if (a->times == 0)
    return;
  unsigned way = random_below (me, 4);
  if (way == 0)
    {
      #pragma omp target exit data map(release: p[first:count]) device(me->device)
      a->times--;
    }
  else if (way == 1)
    {
      #pragma omp target exit data map(delete: p[first:count]) device(me->device)
      a->times = 0;
    }
  else
    {
      #pragma omp target exit data map(from: p[first:count]) device(me->device)
      if (--a->times == 0)
	memcpy (a->wanted + first, a->device + first, count * sizeof (int));
    }
  compare (me, number, "after exit data: host");
}

static void
update (struct worker *me, int number, int to_device)
{
  struct array *a = &me->arrays[number];
  int *p = a->host;
  int first = a->first, count = a->count;
  if (a->times == 0)
    return;
  int skip = random_below (me, count), some = 1 + random_below (me, count - skip);
  first += skip;
  if (to_device)
    {
      #pragma omp target update to(p[first:some]) device(me->device)
      memcpy (a->device + first, a->wanted + first, some * sizeof (int));
    }
  else
    {
      #pragma omp target update from(p[first:some]) device(me->device)
      memcpy (a->wanted + first, a->device + first, some * sizeof (int));
    }
  compare (me, number, "after update: host");
}

static void
launch (struct worker *me, int number)
{
  struct array *a = &me->arrays[number];
  int *p = a->host, add = 1 + random_below (me, 1000), sum = 0, wanted = 0;
  int first = a->times ? a->first : (int) random_below (me, LENGTH);
  int count = a->times ? a->count : 1 + (int) random_below (me, LENGTH - first);
  int *model = a->times ? a->device : a->wanted;
  #pragma omp target map(tofrom: p[first:count]) map(from: sum) firstprivate(add) device(me->device)
  {
    sum = 0;
    for (int i = first; i < first + count; i++)
      {
	p[i] = (int) ((unsigned) p[i] * 3u + add);
	sum = (int) ((unsigned) sum + p[i]);
      }
  }
  for (int i = first; i < first + count; i++)
    {
      model[i] = (int) ((unsigned) model[i] * 3u + add);
      wanted = (int) ((unsigned) wanted + model[i]);
    }
  if (sum != wanted)
    wrong (me, "sum of a region", number, first, sum, wanted);
  compare (me, number, "after a region: host");
}

static void
look (struct worker *me, int number)
{
  struct array *a = &me->arrays[number];
  int at = a->times ? a->first + (int) random_below (me, a->count) : 0;
  int present = omp_target_is_present (a->host + at, me->device);
  if (present != (a->times > 0))
    wrong (me, "omp_target_is_present", number, at, present, a->times > 0);
}

/* The device's bytes, by omp_target_memcpy from where use_device_ptr says that they are.  */
static void
fetch (struct worker *me, int number)
{
  struct array *a = &me->arrays[number];
  int *p = a->host + a->first, *q = NULL, copy[LENGTH];
  if (a->times == 0)
    return;
  #pragma omp target data use_device_ptr(p) device(me->device)
  q = p;
  if (omp_target_memcpy (copy, q, a->count * sizeof (int), 0, 0, omp_get_initial_device (), me->device))
    wrong (me, "omp_target_memcpy", number, 0, 1, 0);
  for (int i = 0; i < a->count; i++)
    if (copy[i] != a->device[a->first + i])
      wrong (me, "device", number, a->first + i, copy[i], a->device[a->first + i]);
}

static void
change (struct worker *me, int number)
{
  struct array *a = &me->arrays[number];
  int at = random_below (me, LENGTH);
  a->host[at] = a->wanted[at] = random_below (me, 1u << 30);
}

/* Data that every thread of a device maps; nobody may unmap it below the others.  */
static void
together (struct worker *me)
{
  int *p = shared[random_below (me, SHARED)], found = 0;
  #pragma omp target data map(to: p[0:LENGTH]) device(me->device)
  {
    #pragma omp target map(alloc: p[0:LENGTH]) map(from: found) device(me->device)
    found = p[LENGTH - 1];
  }
  if (found != p[LENGTH - 1])
    wrong (me, "shared data", (int) ((int (*)[LENGTH]) p - shared), LENGTH - 1, found, p[LENGTH - 1]);
}

static long
pages_resident (void)
{
  long size, pages = 0;
  FILE *file = fopen ("/proc/self/statm", "r");
  if (file == NULL || fscanf (file, "%ld %ld", &size, &pages) != 2)
    pages = 0;
  if (file)
    fclose (file);
  return pages * (sysconf (_SC_PAGESIZE) / 1024);
}

static void *
work (void *argument)
{
  struct worker *me = argument;
  for (long n = 0; n < me->operations; n++)
    {
      int number = random_below (me, ARRAYS);
      switch (random_below (me, 12))
	{
	case 0: case 1: enter (me, number); break;
	case 2: case 3: leave (me, number); break;
	case 4: update (me, number, 1); break;
	case 5: update (me, number, 0); break;
	case 6: case 7: launch (me, number); break;
	case 8: look (me, number); break;
	case 9: fetch (me, number); break;
	case 10: together (me); break;
	default: change (me, number);
	}
      if (me->number == 0 && n % (me->operations / MARKS + 1) == 0)
	resident[n / (me->operations / MARKS + 1)] = pages_resident ();
    }
  for (int number = 0; number < ARRAYS; number++)
    while (me->arrays[number].times)
      leave (me, number);
  return NULL;
}

int
main (int argc, char **argv)
{
  int threads = argc > 1 ? atoi (argv[1]) : 8;
  long operations = argc > 2 ? atol (argv[2]) : 10000;
  uint64_t seed = argc > 3 ? strtoull (argv[3], NULL, 10) : 1;
  devices = omp_get_num_devices ();
  if (threads < 1 || devices < 1)
    {
      fprintf (stderr, "storm: no %s\n", threads < 1 ? "threads" : "device");
      return 2;
    }
  struct worker *workers = calloc (threads, sizeof *workers);
  for (int i = 0; i < SHARED; i++)
    for (int k = 0; k < LENGTH; k++)
      shared[i][k] = 1000 * i + k;
  for (int i = 0; i < threads; i++)
    {
      workers[i].number = i;
      workers[i].device = i % devices;
      workers[i].random = (seed << 20) + i;
      workers[i].operations = operations / threads;
      if (pthread_create (&workers[i].thread, NULL, work, &workers[i]))
	return 2;
    }
  for (int i = 0; i < threads; i++)
    pthread_join (workers[i].thread, NULL);
  for (int i = 0; i < SHARED; i++)
    for (int d = 0; d < devices; d++)
      if (omp_target_is_present (shared[i], d))
	wrong (&workers[0], "still present", i, d, 1, 0);
  printf ("%d threads, %d devices, %ld operations: right; host's memory %ld KiB after a tenth, %ld KiB at the end\n",
	  threads, devices, operations, resident[1], pages_resident ());
  free (workers);
  return 0;
}
