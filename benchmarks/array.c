/* One array of so many GiB: copied to the device, used there, looked at, given back.  Nanoseconds of each step, as JSON.
   The host's array is never written, so that only the device's takes memory.  */

#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

enum { STEP = 4096 / sizeof (long) };

int
main (int argc, char **argv)
{
  size_t n = (argc > 1 ? strtoul (argv[1], NULL, 10) : 8) * (1ul << 30) / sizeof (long), sum = 0;
  long *a = calloc (n, sizeof *a);
  double begin = now (), copied, ran, updated;
  if (!a)
    return 1;
#pragma omp target enter data map(to: a[:n])
  copied = now ();
#pragma omp target map(tofrom: sum)
  for (size_t i = 0; i < n; i += STEP)
    {
      a[i] += i + 1;
      sum += a[i];
    }
  ran = now ();
#pragma omp target update from(a[n - STEP : STEP])
  updated = now ();
  if ((size_t) a[n - STEP] != n - STEP + 1 || sum != (n / STEP) * (n - STEP) / 2 + n / STEP)
    {
      fprintf (stderr, "array.c: wrong: %ld, sum %zu\n", a[n - STEP], sum);
      return 1;
    }
#pragma omp target exit data map(delete: a[:n])
  printf ("{\"copy\": %.0f, \"region\": %.0f, \"update of 4 KiB\": %.0f, \"release\": %.0f}\n", copied - begin, ran - copied,
	  updated - ran, now () - updated);
  return 0;
}
