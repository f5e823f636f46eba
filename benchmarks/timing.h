/* What the measuring programs share.  */

#include <time.h>

/* Nanoseconds of a clock that only goes on.  */
static double
now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

/* Processor time of this program, seconds.  */
__attribute__ ((unused)) static double
spent (void)
{
  struct timespec t;
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* For qsort.  */
__attribute__ ((unused)) static int
by_size (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}
