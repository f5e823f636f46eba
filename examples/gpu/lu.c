/* A = L U in place: for each row a region, in which it is subtracted from those below.  */
#include "lu.h"

static void
factor (double *a, int n)
{
#pragma omp target data map(a[:n * n])
  {
    kernels_begin ();
    for (int k = 0; k < n - 1; k++)
      {
#pragma omp target teams distribute parallel for
        for (int i = k + 1; i < n; i++)
          {
            double times = a[i * n + k] /= a[k * n + k];
            for (int j = k + 1; j < n; j++)
              a[i * n + j] -= times * a[k * n + j];
          }
      }
    kernels_end ();
  }
}
