/* rests [ROUNDS [MICROSECONDS [SPREAD]]]: empty regions, each after a rest.

   Nanoseconds of one, the median and the lowest tenth, as one JSON object on standard output.  */

#include <omp.h>
#include <stdio.h>

#include "rest.h"
#include "timing.h"

enum { WARM = 20 };

static void
launch (void)
{
#pragma omp target
  ;
}

int
main (int argc, char **argv)
{
  int rounds = argc > 1 ? atoi (argv[1]) : 100, on_host = 1;
  const struct rest rest = rest_of (argc, argv, 2);
  double *times = rounds >= 10 ? malloc (rounds * sizeof *times) : NULL;
  if (!times)
    return 2;
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  for (int i = 0; i < WARM; i++)
    launch ();
  for (int i = 0; i < rounds; i++)
    {
      take_rest (&rest);
      double begin = now ();
      launch ();
      times[i] = now () - begin;
    }
  qsort (times, rounds, sizeof *times, by_size);
  printf ("{\"median\": %.0f, \"low\": %.0f, \"on_host\": %d}\n", times[rounds / 2], times[rounds / 10], on_host);
  free (times);
  return 0;
}
