/* The sum of an array: each block adds up in shared memory, its first warp by shuffles; an atomic addition a block.  */
#include "reduction.h"
#include "common.cuh"

__global__ void
sum_blocks (const int *a, int n, unsigned long long *total)
{
  __shared__ unsigned long long part[256];
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += a[i];
  part[threadIdx.x] = mine;
  for (unsigned half = blockDim.x / 2; half >= 32; half /= 2)
    {
      __syncthreads ();
      if (threadIdx.x < half)
        part[threadIdx.x] += part[threadIdx.x + half];
    }
  if (threadIdx.x < 32)
    {
      mine = part[threadIdx.x];
      for (int step = 16; step; step /= 2)
        mine += __shfl_down_sync (0xffffffff, mine, step);
      if (threadIdx.x == 0)
        atomicAdd (total, mine);
    }
}

static unsigned long long
sum (const int *a, int n)
{
  int *da = to_device (a, n);
  unsigned long long *total = device_array<unsigned long long> (1), result;
  CHECK (cudaMemset (total, 0, sizeof *total));
  kernels_begin ();
  sum_blocks<<<16, 256>>> (da, n, total);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (&result, total, 1);
  device_free ({ da, total });
  return result;
}
