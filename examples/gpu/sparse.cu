/* A sparse matrix by a vector: a warp for each row, whose lanes add up by shuffles.  */
#include "sparse.h"
#include "common.cuh"

__global__ void
multiply_row (const int *starts, const int *columns, const double *values, const double *x, double *y, int n)
{
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= n)
    return;
  double sum = 0;
  for (int k = starts[i] + lane; k < starts[i + 1]; k += 32)
    sum += values[k] * x[columns[k]];
  for (int step = 16; step; step /= 2)
    sum += __shfl_down_sync (0xffffffff, sum, step);
  if (lane == 0)
    y[i] = sum;
}

static void
multiply (const int *starts, const int *columns, const double *values, const double *x, double *y, int n)
{
  int count = starts[n], *all_starts = to_device (starts, n + 1), *all_columns = to_device (columns, count + 1);
  double *all_values = to_device (values, count + 1), *dx = to_device (x, n), *dy = device_array<double> (n);
  kernels_begin ();
  multiply_row<<<(n + 3) / 4, 128>>> (all_starts, all_columns, all_values, dx, dy, n);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (y, dy, n);
  device_free ({ all_starts, all_columns, all_values, dx, dy });
}
