/* The address sanitizer watches the host's part.  */
/* { dg-do run } */
/* { dg-options "-O1 -g -fsanitize=address" } */
/* { dg-set-target-env-var ASAN_OPTIONS "detect_leaks=0" } */

#include <stdlib.h>

int
main (void)
{
  int *p = malloc (64 * sizeof (int));
  long sum = 0;
  for (int i = 0; i < 64; i++)
    p[i] = i;
#pragma omp target map(tofrom: p[:64]) map(tofrom: sum)
  for (int i = 0; i < 64; i++)
    sum += p[i]++;
  int last = p[63];
  free (p);
  return sum != 63 * 32 || last != 64;
}
