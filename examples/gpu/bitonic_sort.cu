/* A bitonic sorting network: steps over a short distance are done by blocks, in shared memory.  */
#include "bitonic_sort.h"
#include "common.cuh"

__global__ void
one_step (unsigned *keys, int distance, int run)
{
  int i = blockIdx.x * pairs_of_block + threadIdx.x;
  order_pair (keys, i, distance, 2 * i & run);
}

/* For runs from `first` to `last`, all steps whose pairs lie in one block.  */
__global__ void
steps_of_block (unsigned *keys, int first, int last)
{
  __shared__ unsigned part[2 * pairs_of_block];
  int t = threadIdx.x, i = blockIdx.x * pairs_of_block + t;
  keys += blockIdx.x * 2 * pairs_of_block;
  part[t] = keys[t];
  part[t + pairs_of_block] = keys[t + pairs_of_block];
  for (int run = first; run <= last; run *= 2)
    for (int distance = min (run / 2, (int) pairs_of_block); distance; distance /= 2)
      {
        __syncthreads ();
        order_pair (part, t, distance, 2 * i & run);
      }
  __syncthreads ();
  keys[t] = part[t];
  keys[t + pairs_of_block] = part[t + pairs_of_block];
}

static void
sort (unsigned *keys, int n)
{
  unsigned *device = to_device (keys, n);
  int blocks = n / smallest;
  kernels_begin ();
  steps_of_block<<<blocks, pairs_of_block>>> (device, 2, smallest);
  for (int run = 2 * smallest; run <= n; run *= 2)
    {
      for (int distance = run / 2; distance > pairs_of_block; distance /= 2)
        one_step<<<blocks, pairs_of_block>>> (device, distance, run);
      steps_of_block<<<blocks, pairs_of_block>>> (device, run, run);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (keys, device, n);
  device_free ({ device });
}
