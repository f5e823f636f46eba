/* Speckles taken out of a picture: sums of all points, what may flow at each, then the new points.  */
#include "diffusion.h"
#include "common.cuh"
#include <utility>

constexpr int threads = 128;

__global__ void
add_up (const float *picture, int size, double *sums)
{
  __shared__ double sum[threads], squares[threads];
  int t = threadIdx.x;
  sum[t] = squares[t] = 0;
  for (int i = blockIdx.x * threads + t; i < size; i += gridDim.x * threads)
    {
      double here = picture[i];
      sum[t] += here, squares[t] += here * here;
    }
  for (int half = threads / 2; half; half /= 2)
    {
      __syncthreads ();
      if (t < half)
        sum[t] += sum[t + half], squares[t] += squares[t + half];
    }
  if (t == 0)
    atomicAdd (&sums[0], sum[0]), atomicAdd (&sums[1], squares[0]);
}

__global__ void
open_points (const float *picture, int n, const double *sums, float *open)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n)
    open[y * n + x] = openness (picture, n, x, y, roughness (sums[0], sums[1], n * n));
}

__global__ void
smooth_points (const float *from, const float *open, int n, float *to)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n)
    to[y * n + x] = smoothed (from, open, n, x, y);
}

static void
smooth (float *picture, int n)
{
  int size = n * n;
  float *from = to_device (picture, size), *to = device_array<float> (size), *open = device_array<float> (size);
  double *sums = device_array<double> (2);
  dim3 block (32, 4), grid ((n + 31) / 32, (n + 3) / 4);
  kernels_begin ();
  for (int turn = 0; turn < turns; turn++, std::swap (from, to))
    {
      CHECK (cudaMemset (sums, 0, 2 * sizeof *sums));
      add_up<<<8, threads>>> (from, size, sums);
      open_points<<<grid, block>>> (from, n, sums, open);
      smooth_points<<<grid, block>>> (from, open, n, to);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (picture, from, size);
  device_free ({ from, to, open, sums });
}
