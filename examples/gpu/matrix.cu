/* A matrix product by tiles in shared memory.  */
#include "matrix.h"
#include "common.cuh"

constexpr int tile = 16;

template <typename T>
__global__ void
multiply_tiles (const T *a, const T *b, T *c, int n)
{
  __shared__ T one[tile][tile], two[tile][tile];
  int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  T dot = 0;
  for (int at = 0; at < n; at += tile)
    {
      int x = at + threadIdx.x, y = at + threadIdx.y;
      one[threadIdx.y][threadIdx.x] = row < n && x < n ? a[row * n + x] : T (0);
      two[threadIdx.y][threadIdx.x] = y < n && column < n ? b[y * n + column] : T (0);
      __syncthreads ();
      for (int k = 0; k < tile; k++)
        dot += one[threadIdx.y][k] * two[k][threadIdx.x];
      __syncthreads ();
    }
  if (row < n && column < n)
    c[row * n + column] = dot;
}

static void
multiply (const double *a, const double *b, double *c, int n)
{
  double *da = to_device (a, n * n), *db = to_device (b, n * n), *dc = device_array<double> (n * n);
  dim3 block (tile, tile), grid ((n + tile - 1) / tile, (n + tile - 1) / tile);
  kernels_begin ();
  multiply_tiles<<<grid, block>>> (da, db, dc, n);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (c, dc, n * n);
  device_free ({ da, db, dc });
}
