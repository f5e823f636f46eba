/* What CUB and Thrust are used for, by hand: scan in one pass (blocks look back), compaction, radix sort, histogram,
   merge by keys, and the intrinsics that such code lives of.  */
#include "check.h"
#include <algorithm>
#include <cuda_runtime.h>
#include <numeric>
#include <vector>
__device__ int
warp_scan (int x)
{
  int lane = threadIdx.x & 31;
#pragma unroll
  for (int step = 1; step < 32; step *= 2)
    {
      int y = __shfl_up_sync (0xffffffff, x, step);
      if (lane >= step)
        x += y;
    }
  return x;
}
template <int THREADS>
__device__ int
block_scan (int x, int &all)
{
  __shared__ int sums[THREADS / 32];
  int inside = warp_scan (x);
  if ((threadIdx.x & 31) == 31)
    sums[threadIdx.x / 32] = inside;
  __syncthreads ();
  if (threadIdx.x < 32)
    {
      int s = threadIdx.x < THREADS / 32 ? sums[threadIdx.x] : 0;
      s = warp_scan (s);
      if (threadIdx.x < THREADS / 32)
        sums[threadIdx.x] = s;
    }
  __syncthreads ();
  all = sums[THREADS / 32 - 1];
  int result = inside + (threadIdx.x >= 32 ? sums[threadIdx.x / 32 - 1] : 0);
  __syncthreads ();
  return result;
}
struct state
{
  int flag, sum, prefix, pad;
};
__device__ unsigned ticket;
__global__ void
reset ()
{
  ticket = 0;
}
__global__ void
scan_once (const int *from, int *to, volatile state *states, int n)
{
  __shared__ int part, before;
  if (threadIdx.x == 0)
    part = atomicAdd (&ticket, 1);
  __syncthreads ();
  int i = part * 128 + threadIdx.x, all;
  int mine = block_scan<128> (i < n ? from[i] : 0, all);
  if (threadIdx.x == 0)
    {
      states[part].sum = all;
      __threadfence ();
      states[part].flag = 1;
      int sum = 0;
      for (int b = part - 1; b >= 0; b--)
        {
          int flag;
          while (!(flag = states[b].flag))
            ;
          __threadfence ();
          if (flag == 2)
            {
              sum += states[b].prefix;
              break;
            }
          sum += states[b].sum;
        }
      before = sum;
      states[part].prefix = sum + all;
      __threadfence ();
      states[part].flag = 2;
    }
  __syncthreads ();
  if (i < n)
    to[i] = mine + before;
}
__global__ void
compact (const int *from, int *to, int *count, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize;
  bool keep = i < n && from[i] % 5 == 0;
  unsigned vote = __ballot_sync (0xffffffff, keep);
  int base = 0, leader = __ffs (vote) - 1;
  if (vote && lane == leader)
    base = atomicAdd (count, __popc (vote));
  base = __shfl_sync (0xffffffff, base, leader < 0 ? 0 : leader);
  unsigned below;
  asm ("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  if (keep)
    to[base + __popc (vote & below)] = from[i];
}
__global__ void
radix_pass (const unsigned *from, unsigned *to, int shift, int n)
{
  __shared__ int counts[16][9];
  int i = threadIdx.x, lane = i & 31, warp = i / 32;
  unsigned key = i < n ? from[i] : 0xffffffff, digit = key >> shift & 15, same = 0xffffffff;
  for (int b = 0; b < 4; b++)
    {
      unsigned v = __ballot_sync (0xffffffff, digit >> b & 1);
      same &= digit >> b & 1 ? v : ~v;
    }
  unsigned other = __match_any_sync (0xffffffff, digit);
  if (other != same)
    __trap ();
  for (int k = i; k < 16 * 9; k += blockDim.x)
    counts[k / 9][k % 9] = 0;
  __syncthreads ();
  int rank = __popc (same & ((1u << lane) - 1));
  if (rank == 0)
    counts[digit][warp] = __popc (same);
  __syncthreads ();
  if (i == 0)
    {
      int sum = 0;
      for (int d = 0; d < 16; d++)
        for (int w = 0; w < 8; w++)
          {
            int c = counts[d][w];
            counts[d][w] = sum;
            sum += c;
          }
    }
  __syncthreads ();
  if (i < n)
    to[counts[digit][warp] + rank] = key;
}
__device__ double
add_by_cas (double *to, double x)
{
  auto *word = reinterpret_cast<unsigned long long *> (to);
  unsigned long long old = *word, assumed;
  do
    {
      assumed = old;
      old = atomicCAS (word, assumed, __double_as_longlong (x + __longlong_as_double (assumed)));
    }
  while (assumed != old);
  return __longlong_as_double (old);
}
__device__ void
max_float (float *to, float x)
{
  if (x >= 0)
    atomicMax ((int *)to, __float_as_int (x));
  else
    atomicMin ((unsigned *)to, __float_as_uint (x));
}
__global__ void
sums (const float *x, double *sum, double *sum2, float *most, unsigned *bits, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  add_by_cas (sum, x[i]);
  atomicAdd (sum2, (double)x[i]);
  max_float (most, x[i]);
  atomicOr (bits, 1u << (i % 32));
  atomicXor (bits + 1, i);
  if (i % 3 == 0) atomicInc (bits + 2, 99); else if (i % 3 == 1) atomicInc_block (bits + 2, 99); else atomicInc_system (bits + 2, 99);
  atomicExch (bits + 3, 7u);
}
__global__ void
words (unsigned *to)
{
  unsigned x = threadIdx.x * 0x9e3779b9u + 1;
  to[threadIdx.x] = __brev (x) ^ __clz (x) ^ __byte_perm (x, ~x, 0x5410) ^ __funnelshift_l (x, 77, 5)
                    ^ __umulhi (x, x) ^ __sad (3, 9, x) ^ __usad (1, 2, x) ^ (unsigned)__ffsll ((long long)x << 20)
                    ^ __popcll (x | 1ull << 40) ^ __vadd2 (x, 0x10001) ^ (__syncthreads_count (x & 1) << 3)
                    ^ __dp4a (x, x, 1u);
}
__global__ void
peers (int *to)
{
  int lane = threadIdx.x, x = lane * lane;
  for (int m = 16; m; m /= 2)
    x += __shfl_xor_sync (~0u, x, m);
  int y = __shfl_down_sync (~0u, lane, 3, 8), all = __all_sync (~0u, lane < 32), any = __any_sync (~0u, lane == 40);
  to[lane] = x + 1000000 * y + 10 * all + any + (__activemask () == ~0u ? 100000 : 0);
}
int
main ()
{
  const int n = 10000;
  std::vector<int> a (n), got (n), want (n);
  for (int i = 0; i < n; i++)
    a[i] = (i * 7919) % 1000 - 300;
  int *d, *t, *c;
  state *s;
  CHECK (cudaMalloc (&d, n * 4));
  CHECK (cudaMalloc (&t, n * 4));
  CHECK (cudaMalloc (&c, 64));
  CHECK (cudaMalloc (&s, sizeof (state) * 100));
  CHECK (cudaMemcpy (d, a.data (), n * 4, cudaMemcpyHostToDevice));
  CHECK (cudaMemset (s, 0, sizeof (state) * 100));
  reset<<<1, 1>>> ();
  scan_once<<<(n + 127) / 128, 128>>> (d, t, s, n);
  CHECK (cudaMemcpy (got.data (), t, n * 4, cudaMemcpyDeviceToHost));
  std::partial_sum (a.begin (), a.end (), want.begin ());
  for (int i = 0; i < n; i++)
    SAME (got[i], want[i]);
  CHECK (cudaMemset (c, 0, 64));
  compact<<<(n + 255) / 256, 256>>> (d, t, c, n);
  int count;
  CHECK (cudaMemcpy (&count, c, 4, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (got.data (), t, n * 4, cudaMemcpyDeviceToHost));
  want.clear ();
  for (int x : a)
    if (x % 5 == 0)
      want.push_back (x);
  SAME (count, (int)want.size ());
  std::sort (got.begin (), got.begin () + count);
  std::sort (want.begin (), want.end ());
  for (int i = 0; i < count; i++)
    SAME (got[i], want[i]);
  std::vector<unsigned> keys (250), sorted (250);
  for (int i = 0; i < 250; i++)
    keys[i] = i * 2654435761u % 100000;
  unsigned *u = (unsigned *)d, *v = (unsigned *)t;
  CHECK (cudaMemcpy (u, keys.data (), 1000, cudaMemcpyHostToDevice));
  for (int shift = 0; shift < 32; shift += 4)
    {
      radix_pass<<<1, 256>>> (u, v, shift, 250);
      std::swap (u, v);
    }
  CHECK (cudaMemcpy (sorted.data (), u, 1000, cudaMemcpyDeviceToHost));
  std::sort (keys.begin (), keys.end ());
  for (int i = 0; i < 250; i++)
    SAME (sorted[i], keys[i]);
  std::vector<float> f (n);
  for (int i = 0; i < n; i++)
    f[i] = (i % 64) / 4.f - 9;
  double *sum;
  float *most;
  unsigned *bits;
  CHECK (cudaMalloc (&sum, 16));
  CHECK (cudaMalloc (&most, 4));
  CHECK (cudaMalloc (&bits, 16));
  CHECK (cudaMemset (sum, 0, 16));
  CHECK (cudaMemset (bits, 0, 16));
  float low = -1e30f;
  CHECK (cudaMemcpy (most, &low, 4, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (d, f.data (), n * 4, cudaMemcpyHostToDevice));
  sums<<<(n + 127) / 128, 128>>> ((float *)d, sum, sum + 1, most, bits, n);
  double two[2];
  float top;
  unsigned four[4];
  CHECK (cudaMemcpy (two, sum, 16, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (&top, most, 4, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (four, bits, 16, cudaMemcpyDeviceToHost));
  SAME (two[0], std::accumulate (f.begin (), f.end (), 0.));
  SAME (two[1], two[0]);
  SAME (top, *std::max_element (f.begin (), f.end ()));
  unsigned x = 0;
  for (int i = 0; i < n; i++)
    x ^= i;
  SAME (four[0], ~0u);
  SAME (four[1], x);
  SAME (four[2], n % 100u);
  SAME (four[3], 7u);
  words<<<1, 64>>> (bits = (unsigned *)d);
  std::vector<unsigned> w (64);
  CHECK (cudaMemcpy (w.data (), bits, 256, cudaMemcpyDeviceToHost));
  int odd = 0;
  for (unsigned i = 0; i < 64; i++)
    odd += (i * 0x9e3779b9u + 1) & 1;
  for (unsigned i = 0; i < 64; i++)
    {
      unsigned x = i * 0x9e3779b9u + 1, rev = 0, dot = 1, a2 = ((x + 1) & 0xffff) | ((x >> 16) + 1) << 16;
      for (int b = 0; b < 32; b++)
        rev |= (x >> b & 1) << (31 - b);
      for (int b = 0; b < 4; b++)
        dot += (x >> 8 * b & 255) * (x >> 8 * b & 255);
      unsigned funnel = 77u << 5 | x >> 27;
      unsigned perm = (x & 0xffff) | (~x & 0xffff) << 16;
      unsigned want = rev ^ (unsigned)__builtin_clz (x) ^ perm ^ funnel ^ (unsigned)((unsigned long long)x * x >> 32)
                      ^ (6 + x) ^ (1 + x) ^ (unsigned)__builtin_ffsll ((long long)x << 20)
                      ^ (unsigned)__builtin_popcountll (x | 1ull << 40) ^ a2 ^ (odd << 3) ^ dot;
      SAME (w[i], want);
    }
  peers<<<1, 32>>> (d);
  CHECK (cudaMemcpy (got.data (), d, 128, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    SAME (got[i], 10416 + 1000000 * (i % 8 < 5 ? i + 3 : i) + 10 + 100000);
  std::puts ("primitives: right");
}
