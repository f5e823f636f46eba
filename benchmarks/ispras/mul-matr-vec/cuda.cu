#include "kernel.cuh"

/* A warp for each row; with simd its lanes share the row and join their sums in shared memory.  */
static inline __device__ void
body (long, long nr, const double *a, const double *b, double *r, int simd)
{
  __shared__ double sums[1024];
  unsigned lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
  for (long first = (long) blockIdx.x * warps; first < nr; first += (long) gridDim.x * warps)
    {
      long row = first + threadIdx.x / WARP;
      double sum = 0;
      if (row < nr && (simd || lane == 0))
        for (long j = lane; j < nr; j += simd ? WARP : 1)
          sum += a[row * nr + j] * b[j];
      sums[threadIdx.x] = sum;
      __syncthreads ();
      for (unsigned half = WARP / 2; simd && half > 0; half /= 2)
        {
          if (lane < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
          __syncthreads ();
        }
      if (row < nr && lane == 0)
        r[row] = sums[threadIdx.x];
      __syncthreads ();
    }
}

BOTH
