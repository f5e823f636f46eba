/* A matrix product: the two outer loops are one.  */
#include "matrix.h"

static void
multiply (const double *a, const double *b, double *c, int n)
{
#pragma omp target data map(to : a[:n * n], b[:n * n]) map(from : c[:n * n])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for collapse(2)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        {
          double dot = 0;
          for (int k = 0; k < n; k++)
            dot += a[i * n + k] * b[k * n + j];
          c[i * n + j] = dot;
        }
    kernels_end ();
  }
}
