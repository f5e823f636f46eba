/* A sparse matrix by a vector: the rows are shared out, in small groups, for they are of different lengths.  */
#include "sparse.h"

static void
multiply (const int *starts, const int *columns, const double *values, const double *x, double *y, int n)
{
  int count = starts[n];
#pragma omp target data map(to : starts[:n + 1], columns[:count], values[:count], x[:n]) map(from : y[:n])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for schedule(static, 64)
    for (int i = 0; i < n; i++)
      {
        double sum = 0;
        for (int k = starts[i]; k < starts[i + 1]; k++)
          sum += values[k] * x[columns[k]];
        y[i] = sum;
      }
    kernels_end ();
  }
}
