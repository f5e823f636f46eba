/* A bitonic sorting network: a region for each step, all pairs of which may be compared at once.  */
#include "bitonic_sort.h"

static void
sort (unsigned *keys, int n)
{
#pragma omp target data map(keys[:n])
  {
    kernels_begin ();
    for (int run = 2; run <= n; run *= 2)
      for (int distance = run / 2; distance; distance /= 2)
        {
#pragma omp target teams distribute parallel for
          for (int i = 0; i < n / 2; i++)
            order_pair (keys, i, distance, 2 * i & run);
        }
    kernels_end ();
  }
}
