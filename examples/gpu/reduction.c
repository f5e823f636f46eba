/* The sum of an array: each thread has a sum of its own, and the runtime adds them up.  */
#include "reduction.h"

static unsigned long long
sum (const int *a, int n)
{
  unsigned long long total = 0;
#pragma omp target data map(to : a[:n]) map(total)
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for reduction(+ : total)
    for (int i = 0; i < n; i++)
      total += a[i];
    kernels_end ();
  }
  return total;
}
