/* A = L U in place, by tiles in shared memory: one on the diagonal, those below and beside it, then all others.  */
#include "lu.h"
#include "common.cuh"

typedef double square[tile][tile];

/* A number of a tile.  */
__device__ double &
number (double *a, int n, int tile_row, int tile_column, int row, int column)
{
  return a[(tile_row * tile + row) * n + tile_column * tile + column];
}

__global__ void
factor_diagonal (double *a, int n, int at)
{
  __shared__ square one;
  int t = threadIdx.x;
  for (int row = 0; row < tile; row++)
    one[row][t] = number (a, n, at, at, row, t);
  for (int k = 0; k < tile; k++)
    {
      __syncthreads ();
      if (t > k) /* thread t has row t */
        {
          double times = one[t][k] /= one[k][k];
          for (int j = k + 1; j < tile; j++)
            one[t][j] -= times * one[k][j];
        }
    }
  __syncthreads ();
  for (int row = 0; row < tile; row++)
    number (a, n, at, at, row, t) = one[row][t];
}

/* The block's y: the tile beside the diagonal (0), or that below it (1).  */
__global__ void
factor_borders (double *a, int n, int at)
{
  __shared__ square diagonal, one;
  int t = threadIdx.x, other = at + 1 + blockIdx.x, below = blockIdx.y;
  int tile_row = below ? other : at, tile_column = below ? at : other;
  for (int row = 0; row < tile; row++)
    {
      diagonal[row][t] = number (a, n, at, at, row, t);
      one[row][t] = number (a, n, tile_row, tile_column, row, t);
    }
  __syncthreads ();
  for (int k = 0; k < tile; k++)
    if (below) /* thread t has row t */
      {
        double times = one[t][k] /= diagonal[k][k];
        for (int j = k + 1; j < tile; j++)
          one[t][j] -= times * diagonal[k][j];
      }
    else /* thread t has column t */
      for (int i = k + 1; i < tile; i++)
        one[i][t] -= diagonal[i][k] * one[k][t];
  __syncthreads ();
  for (int row = 0; row < tile; row++)
    number (a, n, tile_row, tile_column, row, t) = one[row][t];
}

__global__ void
subtract_products (double *a, int n, int at)
{
  __shared__ square left, upper;
  int x = threadIdx.x, y = threadIdx.y, tile_row = at + 1 + blockIdx.y, tile_column = at + 1 + blockIdx.x;
  left[y][x] = number (a, n, tile_row, at, y, x);
  upper[y][x] = number (a, n, at, tile_column, y, x);
  __syncthreads ();
  double sum = 0;
  for (int k = 0; k < tile; k++)
    sum += left[y][k] * upper[k][x];
  number (a, n, tile_row, tile_column, y, x) -= sum;
}

static void
factor (double *a, int n)
{
  double *device = to_device (a, n * n);
  kernels_begin ();
  for (int at = 0, rest = n / tile - 1; rest >= 0; at++, rest--)
    {
      factor_diagonal<<<1, tile>>> (device, n, at);
      if (rest == 0)
        break;
      factor_borders<<<dim3 (rest, 2), tile>>> (device, n, at);
      subtract_products<<<dim3 (rest, rest), dim3 (tile, tile)>>> (device, n, at);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (a, device, n * n);
  device_free ({ device });
}
