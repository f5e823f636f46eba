#include "kernel.cuh"

/* Sums of threads are joined in shared memory, those of blocks by an atomic addition; r is zero before.  */
static inline __device__ void
body (long n, long, const double *a, const double *b, double *r, int simd)
{
  __shared__ double sums[1024];
  double sum = 0;
  FOR (i, n, simd)
    sum += a[i] * b[i];
  sums[threadIdx.x] = sum;
  __syncthreads ();
  for (unsigned half = 512; half > 0; half /= 2)
    {
      if (threadIdx.x < half && threadIdx.x + half < blockDim.x)
        sums[threadIdx.x] += sums[threadIdx.x + half];
      __syncthreads ();
    }
  if (threadIdx.x == 0)
    atomicAdd (r, sums[0]);
}

BOTH
