/* Random points: each thread takes one of every few; warps add up by shuffles.  */
#include "monte_carlo.h"
#include "common.cuh"

__global__ void
count (int n, unsigned *total)
{
  unsigned inside = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    inside += is_inside (i);
  for (int step = 16; step; step /= 2)
    inside += __shfl_xor_sync (0xffffffff, inside, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd (total, inside);
}

static unsigned
count_inside (int n)
{
  unsigned *total = device_array<unsigned> (1), inside;
  CHECK (cudaMemset (total, 0, sizeof *total));
  kernels_begin ();
  count<<<32, 128>>> (n, total);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (&inside, total, 1);
  device_free ({ total });
  return inside;
}
