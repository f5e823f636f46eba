/* What a region and its maps cost: medians of many runs, nanoseconds, as one JSON object on standard output.  */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timing.h"

static int first = 1;

static void
tell (const char *name, double *times, int n)
{
  qsort (times, n, sizeof *times, by_size);
  printf ("%s\"%s\": {\"median\": %.0f, \"lowest\": %.0f, \"p90\": %.0f, \"runs\": %d}", first ? "{" : ", ", name, times[n / 2],
	  times[0], times[n * 9 / 10], n);
  first = 0;
}

#define MEASURE(name, n, pause, statement)				\
  do									\
    {									\
      for (int i = 0; i < (n); i++)					\
	{								\
	  if (pause)							\
	    usleep (pause);						\
	  double begin = now ();					\
	  statement;							\
	  times[i] = now () - begin;					\
	}								\
      tell (name, times, n);						\
    }									\
  while (0)

static void
empty_region (void)
{
#pragma omp target
  ;
}

static void
empty_region_on_host (void)
{
#pragma omp target if(0)
  ;
}

static void
mapped_region (char *data, size_t size)
{
#pragma omp target map(tofrom: data[:size])
  data[0]++;
}

static void
present_region (char *data, size_t size)
{
#pragma omp target map(tofrom: data[:size])
  data[0]++;
}

static void
update_to (char *data, size_t size)
{
#pragma omp target update to(data[:size])
}

static void
parallel_region (void)
{
#pragma omp target parallel num_threads(2)
  ;
}

int
main (void)
{
  enum { LARGE = 1 << 20, RUNS = 4000 };
  static double times[RUNS];
  char *data = malloc (LARGE);
  int on_host = 1;
  memset (data, 1, LARGE);
  double begin = now ();
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  times[0] = now () - begin;
  tell ("first region", times, 1);
  MEASURE ("empty region", RUNS, 0, empty_region ());
  MEASURE ("empty region after 5 ms of rest", 100, 5000, empty_region ());
  MEASURE ("empty region, if(0)", RUNS, 0, empty_region_on_host ());
  MEASURE ("empty parallel region of 2 threads", 500, 0, parallel_region ());
  MEASURE ("map(tofrom) of 4 KiB", RUNS, 0, mapped_region (data, 4096));
  MEASURE ("map(tofrom) of 1 MiB", 400, 0, mapped_region (data, LARGE));
#pragma omp target data map(to: data[:LARGE])
  {
    MEASURE ("1 MiB that is present", RUNS, 0, present_region (data, LARGE));
    MEASURE ("update to, 4 KiB", RUNS, 0, update_to (data, 4096));
    MEASURE ("update to, 1 MiB", 400, 0, update_to (data, LARGE));
  }
  printf (", \"on_host\": %d}\n", on_host);
  free (data);
  return 0;
}
