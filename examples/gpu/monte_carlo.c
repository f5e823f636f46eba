/* Random points: a loop over all of them, for any may be asked for at any time.  */
#include "monte_carlo.h"

static unsigned
count_inside (int n)
{
  unsigned inside = 0;
#pragma omp target data map(inside)
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for reduction(+ : inside)
    for (int i = 0; i < n; i++)
      inside += is_inside (i);
    kernels_end ();
  }
  return inside;
}
