/* A matrix product by tiles in shared memory.  */
#include "check.h"
#include <cmath>
#include <vector>

constexpr int tile = 16;

template <typename T>
__global__ void
multiply (const T *a, const T *b, T *c, int n)
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

int
main ()
{
  const int n = 100; /* no multiple of the tile */
  std::vector<double> a (n * n), b (n * n), c (n * n);
  for (int i = 0; i < n * n; i++)
    a[i] = i % 17 - 8, b[i] = i % 13 - 6;
  double *da, *db, *dc;
  size_t size = n * n * sizeof *da;
  CHECK (cudaMalloc (&da, size));
  CHECK (cudaMalloc (&db, size));
  CHECK (cudaMalloc (&dc, size));
  CHECK (cudaMemcpy (da, a.data (), size, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (db, b.data (), size, cudaMemcpyHostToDevice));
  dim3 block (tile, tile), grid ((n + tile - 1) / tile, (n + tile - 1) / tile);
  multiply<<<grid, block>>> (da, db, dc, n);
  CHECK (cudaMemcpy (c.data (), dc, size, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      {
        double want = 0;
        for (int k = 0; k < n; k++)
          want += a[i * n + k] * b[k * n + j];
        if (c[i * n + j] != want)
          {
            std::printf ("wrong: c[%d][%d] is %g, not %g\n", i, j, c[i * n + j], want);
            return 1;
          }
      }
  std::printf ("matrix: the product of two %d x %d matrices is right\n", n, n);
}
