/* Regions and maps in batches: what one costs, without the clock's own time.  One JSON object on standard output,
   nanoseconds.  The argument is the length of a batch.  */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

enum { BATCHES = 101, ARRAY = 512 };

#define MEASURE(name, statement)					\
  do									\
    {									\
      double times[BATCHES];						\
      for (int i = 0; i < BATCHES; i++)					\
	{								\
	  double begin = now ();					\
	  for (int j = 0; j < batch; j++)				\
	    statement;							\
	  times[i] = (now () - begin) / batch;				\
	}								\
      qsort (times, BATCHES, sizeof *times, by_size);			\
      printf ("\"%s\": {\"median\": %.1f, \"lowest\": %.1f}, ", name, times[BATCHES / 2], times[0]); \
    }									\
  while (0)

static void
empty (void)
{
#pragma omp target
  ;
}

static void
scalar (int value)
{
#pragma omp target firstprivate(value)
  value++;
}

static void
result (int *value)
{
#pragma omp target map(tofrom: value[:1])
  value[0]++;
}

static void
arrays (double *a, double *b, double *c)
{
#pragma omp target map(to: a[:ARRAY], b[:ARRAY]) map(from: c[:ARRAY])
  c[0] = a[0] + b[0];
}

static void
teams (double *a)
{
#pragma omp target teams distribute parallel for num_teams(4) map(tofrom: a[:ARRAY])
  for (int i = 0; i < ARRAY; i++)
    a[i]++;
}

static void
update (double *a)
{
#pragma omp target update to(a[:ARRAY])
}

int
main (int argc, char **argv)
{
  int batch = argc > 1 ? atoi (argv[1]) : 200, value = 0, on_host = 1;
  /* At the same place in a page in each build: by that alone a copy of 4 KiB takes 37 to 58 ns.  */
  double *a = memset (aligned_alloc (4096, 3 * ARRAY * sizeof *a), 0, 3 * ARRAY * sizeof *a);
  double *b = a + ARRAY, *c = b + ARRAY;
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  printf ("{");
  MEASURE ("empty region", empty ());
  MEASURE ("a scalar, firstprivate", scalar (value));
  MEASURE ("a scalar, map(tofrom)", result (&value));
  MEASURE ("three arrays of 4 KiB", arrays (a, b, c));
#pragma omp target data map(to: a[:3 * ARRAY])
  {
    MEASURE ("three arrays that are present", arrays (a, b, c));
    MEASURE ("four teams, present", teams (a));
    MEASURE ("update to, 4 KiB", update (a));
  }
  printf ("\"on_host\": %d}\n", on_host);
  free (a);
  return 0;
}
