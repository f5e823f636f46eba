/* Linear equations by elimination: one thread finds the pivot and swaps its row up, all subtract that row.  */
#include "gauss.h"

static void
eliminate (double *a, int n)
{
  int width = n + 1;
#pragma omp target data map(a[:n * width])
  {
    kernels_begin ();
    for (int k = 0; k < n - 1; k++)
      {
#pragma omp target
        {
          int best = k;
          for (int i = k + 1; i < n; i++)
            if (fabs (a[i * width + k]) > fabs (a[best * width + k]))
              best = i;
          for (int j = k; j < width && best != k; j++)
            {
              double up = a[best * width + j];
              a[best * width + j] = a[k * width + j];
              a[k * width + j] = up;
            }
        }
#pragma omp target teams distribute parallel for
        for (int i = k + 1; i < n; i++)
          {
            double times = a[i * width + k] / a[k * width + k];
            for (int j = k; j < width; j++)
              a[i * width + j] -= times * a[k * width + j];
          }
      }
    kernels_end ();
  }
}
