/* Measures one kernel over sizes, teams, threads and simd; one line of JSON for each point on standard output.

   Arguments: SIZES TEAMS THREADS SIMD REPEATS BUDGET.  The first four are lists with commas (SIMD of 0 and 1; TEAMS
   and THREADS 0: the runtime chooses).  A point is measured at least three times, until it has taken BUDGET seconds
   or REPEATS times; the native loop takes turns with it.  Every result is compared with the native loop's.
   Exit status 1: wrong result, no device, no memory; 2: bad arguments.  */

#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIST 64
#define TOLERANCE 1e-10
#define LEAST 3

/* CLOCK_PROCESS_CPUTIME_ID if ISPRAS_CPU_TIME is in the environment.  */
static clockid_t clock_id = CLOCK_MONOTONIC;

static double
now (void)
{
  struct timespec t;
  clock_gettime (clock_id, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int
parse (const char *text, long low, long *values)
{
  int count = 0;
  for (const char *p = text; count < LIST; p++)
    {
      char *end;
      long value = strtol (p, &end, 10);
      if (end == p || value < low || (*end && *end != ','))
        break;
      values[count++] = value;
      if (!*end)
        return count;
      p = end;
    }
  fprintf (stderr, "%s: error: '%s' is no list of up to %d numbers from %ld on\n", bench_name, text, LIST, low);
  exit (2);
}

static double *
allocate (long count)
{
  double *memory = count ? aligned_alloc (64, (count * sizeof (double) + 63) / 64 * 64) : NULL;
  if (count && !memory)
    {
      fprintf (stderr, "%s: error: no memory for %ld elements\n", bench_name, count);
      exit (1);
    }
  return memory;
}

/* The largest relative difference; NaN where something isn't a number.  */
static double
difference (const double *result, const double *expected, long count)
{
  double largest = 0;
  for (long i = 0; i < count; i++)
    {
      double d = fabs (result[i] - expected[i]) / fmax (fabs (expected[i]), 1e-300);
      if (!(d <= largest))
        largest = d;
      if (isnan (d))
        return d;
    }
  return largest;
}

/* One launch with a result that was spoiled before; seconds of the region.  */
static double
measured (struct problem *p, const struct launch *l, const double *expected)
{
  memset (p->r, 0xff, p->nr * sizeof (double));
  device_put_result (p);
  double begin = now ();
  int returned = bench_region (p, l);
  double seconds = now () - begin;
  if (!returned)
    device_get_result (p);
  double d = difference (p->r, expected, p->nr);
  if (!(d <= TOLERANCE))
    {
      fprintf (stderr, "%s (%s): error: wrong result: n %ld, teams %d, threads %d, simd %d: differs by %g\n", bench_name,
               model_name, p->n, l->teams, l->threads, l->simd, d);
      exit (1);
    }
  return seconds;
}

static void
print (const char *name, const double *seconds, int count)
{
  printf (", \"%s\": [", name);
  for (int i = 0; i < count; i++)
    printf ("%s%.9f", i ? ", " : "", seconds[i]);
  printf ("]");
}

static void
point (struct problem *p, const struct launch *l, double *expected, int repeats, double budget)
{
  double region[repeats], native[repeats];
  double first = measured (p, l, expected);
  int count = 0;
  for (double spent = 0; count < repeats && (count < LEAST || spent < budget); count++)
    {
      double begin = now ();
      bench_native (p, expected);
      native[count] = now () - begin;
      region[count] = measured (p, l, expected);
      spent += native[count] + region[count];
    }
  printf ("{\"n\": %ld, \"teams\": %d, \"threads\": %d, \"simd\": %d, \"first\": %.9f", p->n, l->teams, l->threads,
          l->simd, first);
  print ("region", region, count);
  print ("native", native, count);
  printf ("}\n");
  fflush (stdout);
}

int
main (int argc, char **argv)
{
  if (argc != 7)
    {
      fprintf (stderr, "usage: %s SIZES TEAMS THREADS SIMD REPEATS BUDGET\n", argv[0]);
      return 2;
    }
  long sizes[LIST], teams[LIST], threads[LIST], simd[LIST], repeats;
  int nsizes = parse (argv[1], 1, sizes), nteams = parse (argv[2], 0, teams), nthreads = parse (argv[3], 0, threads);
  int nsimd = parse (argv[4], 0, simd);
  parse (argv[5], LEAST, &repeats);
  double budget = atof (argv[6]);
  if (getenv ("ISPRAS_CPU_TIME"))
    clock_id = CLOCK_PROCESS_CPUTIME_ID;
  const char *device = device_start ();
  if (!device)
    return 1;
  printf ("{\"bench\": \"%s\", \"model\": \"%s\", \"device\": \"%s\", \"on_host\": %d}\n", bench_name, model_name,
          device, device_on_host ());
  for (int s = 0; s < nsizes; s++)
    {
      struct problem p = { .n = sizes[s] };
      bench_sizes (&p);
      p.a = allocate (p.na), p.b = allocate (p.nb), p.r = allocate (p.nr);
      double *expected = allocate (p.nr);
      bench_fill (&p);
      bench_native (&p, expected);
      memset (p.r, 0, p.nr * sizeof (double));
      double begin = now ();
      device_enter (&p);
      double entered = now () - begin;
      for (int v = 0; v < nsimd; v++)
        for (int t = 0; t < nteams; t++)
          for (int h = 0; h < nthreads; h++)
            {
              struct launch l = { .teams = teams[t], .threads = threads[h], .simd = simd[v] != 0 };
              point (&p, &l, expected, repeats, budget);
            }
      device_leave (&p);
      printf ("{\"n\": %ld, \"elements\": %ld, \"to_device\": %.9f}\n", p.n, p.na + p.nb + p.nr, entered);
      free (p.a), free (p.b), free (p.r), free (expected);
    }
  return 0;
}
