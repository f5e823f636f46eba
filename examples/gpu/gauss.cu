/* Linear equations by elimination: one block finds the pivot and swaps its row up, a grid subtracts that row.  */
#include "gauss.h"
#include "common.cuh"

constexpr int threads = 128;

__global__ void
pivot (double *a, int n, int k, double *times)
{
  __shared__ int best[threads];
  int t = threadIdx.x, width = n + 1, own = k;
  for (int i = k + t; i < n; i += threads)
    if (fabs (a[i * width + k]) > fabs (a[own * width + k]))
      own = i;
  best[t] = own;
  for (int half = threads / 2; half; half /= 2)
    {
      __syncthreads ();
      if (t < half && fabs (a[best[t + half] * width + k]) > fabs (a[best[t] * width + k]))
        best[t] = best[t + half];
    }
  __syncthreads ();
  for (int j = k + t; j < width && best[0] != k; j += threads)
    {
      double up = a[best[0] * width + j];
      a[best[0] * width + j] = a[k * width + j];
      a[k * width + j] = up;
    }
  __syncthreads ();
  for (int i = k + 1 + t; i < n; i += threads)
    times[i] = a[i * width + k] / a[k * width + k];
}

__global__ void
subtract (double *a, int n, int k, const double *times)
{
  int j = k + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j <= n)
    a[i * (n + 1) + j] -= times[i] * a[k * (n + 1) + j];
}

static void
eliminate (double *a, int n)
{
  double *device = to_device (a, n * (n + 1)), *times = device_array<double> (n);
  dim3 block (32, 4);
  kernels_begin ();
  for (int k = 0; k < n - 1; k++)
    {
      dim3 grid ((n - k + 32) / 32, (n - k + 2) / 4);
      pivot<<<1, threads>>> (device, n, k, times);
      subtract<<<grid, block>>> (device, n, k, times);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (a, device, n * (n + 1));
  device_free ({ device, times });
}
