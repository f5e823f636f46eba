/* Sorting by four bits at a time: a warp has a row of keys, whose lanes find by votes which of them have one digit.  */
#include "radix_sort.h"
#include "common.cuh"
#include <utility>

constexpr int warps = 4, row = 512; /* of a block; keys of a warp */

/* The lanes of the warp whose key has the digit of this lane.  */
__device__ unsigned
peers (int digit, bool valid)
{
  unsigned same = __ballot_sync (0xffffffff, valid);
  for (int bit = 0; bit < bits; bit++)
    {
      unsigned set = __ballot_sync (0xffffffff, digit >> bit & 1);
      same &= digit >> bit & 1 ? set : ~set;
    }
  return same;
}

/* Where each warp's keys of each digit go: first how many there are, and with `to`, where the first of them goes.  */
__global__ void
each_row (const unsigned *keys, int n, int shift, int *table, unsigned *to)
{
  __shared__ int next_of_warp[warps][digits];
  int lane = threadIdx.x % 32, warp = blockIdx.x * warps + threadIdx.x / 32, all_warps = gridDim.x * warps;
  int *next = next_of_warp[threadIdx.x / 32];
  if (lane < digits)
    next[lane] = to ? table[lane * all_warps + warp] : 0;
  for (int i = warp * row + lane; i - lane < min (n, (warp + 1) * row); i += 32)
    {
      __syncwarp ();
      unsigned key = i < n ? keys[i] : 0;
      int digit = key >> shift & (digits - 1);
      unsigned same = peers (digit, i < n), before = same & ((1u << lane) - 1);
      if (i < n && to)
        to[next[digit] + __popc (before)] = key;
      __syncwarp ();
      if (i < n && !before)
        next[digit] += __popc (same);
    }
  __syncwarp ();
  if (lane < digits && !to)
    table[lane * all_warps + warp] = next[lane];
}

/* One block: each number becomes the sum of those before it.  Each thread has a part of them.  */
__global__ void
sums_before (int *table, int n)
{
  __shared__ int sums[2][256];
  int t = threadIdx.x, length = (n + 255) / 256, begin = t * length, end = min (n, begin + length), sum = 0, now = 0;
  for (int i = begin; i < end; i++)
    sum += table[i];
  sums[0][t] = sum;
  for (int step = 1; step < 256; step *= 2, now = !now)
    {
      __syncthreads ();
      sums[!now][t] = sums[now][t] + (t >= step ? sums[now][t - step] : 0);
    }
  for (int i = begin, before = sums[now][t] - sum; i < end; i++)
    {
      int own = table[i];
      table[i] = before;
      before += own;
    }
}

static void
sort (unsigned *keys, int n)
{
  int blocks = (n + warps * row - 1) / (warps * row), *table = device_array<int> (blocks * warps * digits);
  unsigned *from = to_device (keys, n), *to = device_array<unsigned> (n);
  kernels_begin ();
  for (int shift = 0; shift < 32; shift += bits, std::swap (from, to))
    {
      each_row<<<blocks, warps * 32>>> (from, n, shift, table, nullptr);
      sums_before<<<1, 256>>> (table, blocks * warps * digits);
      each_row<<<blocks, warps * 32>>> (from, n, shift, table, to);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (keys, from, n);
  device_free ({ from, to, table });
}
