/* Prefix sums: within blocks in shared memory, then of the blocks' sums likewise, which are added to each block.  */
#include "scan.h"
#include "common.cuh"

constexpr int threads = 256;

__global__ void
scan_blocks (const int *in, int *out, int *sums, int n)
{
  __shared__ int values[2][threads];
  int t = threadIdx.x, i = blockIdx.x * threads + t, now = 0;
  values[0][t] = i < n ? in[i] : 0;
  __syncthreads ();
  for (int step = 1; step < threads; step *= 2, now = !now)
    {
      values[!now][t] = values[now][t] + (t >= step ? values[now][t - step] : 0);
      __syncthreads ();
    }
  if (i < n)
    out[i] = values[now][t];
  if (t == threads - 1)
    sums[blockIdx.x] = values[now][t];
}

__global__ void
add_before (int *out, const int *sums, int n)
{
  int i = (blockIdx.x + 1) * threads + threadIdx.x;
  if (i < n)
    out[i] += sums[blockIdx.x];
}

static int
blocks_of (int n)
{
  return (n + threads - 1) / threads;
}

/* spare: for the sums of all blocks of this level and the next ones.  */
static void
scan_level (const int *in, int *out, int *spare, int n)
{
  int blocks = blocks_of (n);
  scan_blocks<<<blocks, threads>>> (in, out, spare, n);
  if (blocks == 1)
    return;
  scan_level (spare, spare, spare + blocks, blocks);
  add_before<<<blocks - 1, threads>>> (out, spare, n);
}

static void
scan (const int *in, int *out, int n)
{
  int *from = to_device (in, n), *to = device_array<int> (n), *spare = device_array<int> (2 * blocks_of (n) + 2);
  kernels_begin ();
  scan_level (from, to, spare, n);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (out, to, n);
  device_free ({ from, to, spare });
}
