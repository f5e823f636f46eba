/* Cooperative groups: tiles, what they reduce and scan, threads that came together, a grid that meets.  */
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>
#include <vector>
namespace cg = cooperative_groups;

__global__ void
tiles (const int *from, int *sums, int *scans, int *least)
{
  auto block = cg::this_thread_block ();
  auto tile = cg::tiled_partition<16> (block);
  int i = blockIdx.x * block.size () + block.thread_rank ();
  int sum = cg::reduce (tile, from[i], cg::plus<int> ());
  if (tile.thread_rank () == 0)
    sums[blockIdx.x * tile.meta_group_size () + tile.meta_group_rank ()] = sum;
  scans[i] = cg::inclusive_scan (tile, from[i]);
  int low = cg::reduce (tile, from[i], cg::less<int> ());
  int before = cg::exclusive_scan (tile, from[i], cg::plus<int> ());
  least[i] = low + 1000 * before;
  block.sync ();
}

__global__ void
filter (const int *from, int *to, int *count, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && from[i] % 3 == 0)
    {
      auto active = cg::coalesced_threads ();
      int first;
      if (active.thread_rank () == 0)
        first = atomicAdd (count, (int)active.size ());
      to[active.shfl (first, 0) + active.thread_rank ()] = from[i];
    }
}

template <class Group>
__device__ int
sum_of (Group g, int x)
{
  for (int step = g.size () / 2; step; step /= 2)
    x += g.shfl_down (x, step);
  return g.shfl (x, 0);
}

__global__ void
grid_sum (int *data, int *parts, int n)
{
  auto grid = cg::this_grid ();
  int sum = 0;
  for (int i = grid.thread_rank (); i < n; i += grid.size ())
    sum += data[i];
  auto warp = cg::tiled_partition<32> (cg::this_thread_block ());
  sum = sum_of (warp, sum);
  if (warp.thread_rank () == 0)
    atomicAdd (&parts[0], sum);
  grid.sync ();
  for (int i = grid.thread_rank (); i < n; i += grid.size ())
    data[i] = parts[0] - data[i];
}

__global__ void
halves (int *to)
{
  auto warp = cg::tiled_partition<32> (cg::this_thread_block ());
  auto odd = cg::binary_partition (warp, warp.thread_rank () % 3 == 0);
  to[threadIdx.x] = odd.size () * 100 + odd.thread_rank () + (odd.any (threadIdx.x == 0) ? 10000 : 0);
}

struct pair
{
  double a;
  char b;
};

/* Of any size; tiles whose types do not say what they are of; groups that are no templates; a structure from lane to lane; labels; a copy.  */
__device__ int
total (cg::thread_group g, int *room, int value)
{
  int rank = g.thread_rank ();
  for (int half = g.size () / 2; half; half /= 2)
    {
      room[rank] = value;
      g.sync ();
      if (rank < half)
        value += room[rank + half];
      g.sync ();
    }
  return value;
}

__global__ void
others (const int *from, int *to, int size)
{
  __shared__ int room[64], copied[64];
  auto block = cg::this_thread_block ();
  cg::memcpy_async (block, copied, from, 64 * sizeof (int));
  cg::wait (block);
  cg::thread_group part = cg::tiled_partition (block, size);
  int i = block.thread_rank (), found = total (part, room + i / size * size, copied[i]);
  block.sync ();
  int all = total (block, room, copied[i]);
  cg::thread_block_tile<16> tile = cg::tiled_partition<16> (block);
  const cg::thread_block_tile<4> four = cg::tiled_partition<4> (tile);
  pair p = tile.shfl (pair{ i / 2., char (i) }, 3);
  auto same = cg::labeled_partition (tile, i % 5);
  int label = cg::reduce (same, i, cg::greater<int> ()), scanned = cg::inclusive_scan (same, 1);
  to[6 * i] = part.thread_rank () == 0 ? found : -1;
  to[6 * i + 1] = i == 0 ? all : -1;
  to[6 * i + 2] = four.meta_group_rank () * 10 + four.meta_group_size ();
  to[6 * i + 3] = int (2 * p.a) == p.b ? p.b : -1;
  to[6 * i + 4] = label;
  to[6 * i + 5] = scanned;
}

static void
check_others (const std::vector<int> &a, int *d, int *t, int size)
{
  int got[6 * 64], all = 0;
  CHECK (cudaMemcpy (d, a.data (), 256, cudaMemcpyHostToDevice));
  others<<<1, 64>>> (d, t, size);
  CHECK (cudaMemcpy (got, t, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++)
    all += a[i];
  for (int i = 0; i < 64; i++)
    {
      int sum = 0, most = 0, before = 0;
      for (int k = i; k < i + size && k < 64; k++)
        sum += a[k];
      for (int k = i / 16 * 16; k < i / 16 * 16 + 16; k++)
        if (k % 5 == i % 5)
          {
            most = k;
            before += k <= i;
          }
      SAME (got[6 * i], i % size ? -1 : sum);
      SAME (got[6 * i + 1], i ? -1 : all);
      SAME (got[6 * i + 2], i % 16 / 4 * 10 + 4);
      SAME (got[6 * i + 3], i / 16 * 16 + 3);
      SAME (got[6 * i + 4], most);
      SAME (got[6 * i + 5], before);
    }
}

int
main ()
{
  const int n = 512;
  std::vector<int> a (n), sums (n / 16), scans (n), least (n);
  for (int i = 0; i < n; i++)
    a[i] = (i * 37) % 101 - 20;
  int *d, *s, *t, *l;
  CHECK (cudaMalloc (&d, 4 * n));
  CHECK (cudaMalloc (&s, 4 * n));
  CHECK (cudaMalloc (&t, 4 * n));
  CHECK (cudaMalloc (&l, 4 * n));
  CHECK (cudaMemcpy (d, a.data (), 4 * n, cudaMemcpyHostToDevice));
  tiles<<<4, 128>>> (d, s, t, l);
  CHECK (cudaMemcpy (sums.data (), s, n / 4, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (scans.data (), t, 4 * n, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (least.data (), l, 4 * n, cudaMemcpyDeviceToHost));
  for (int b = 0; b < n; b += 16)
    {
      int sum = 0, low = a[b];
      for (int i = b; i < b + 16; i++)
        low = a[i] < low ? a[i] : low;
      for (int i = b; i < b + 16; i++)
        {
          SAME (least[i], low + 1000 * sum);
          sum += a[i];
          SAME (scans[i], sum);
        }
      SAME (sums[b / 16], sum);
    }
  CHECK (cudaMemset (s, 0, 4));
  filter<<<4, 128>>> (d, t, s, n);
  int count, wanted = 0, got = 0;
  CHECK (cudaMemcpy (&count, s, 4, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (scans.data (), t, 4 * n, cudaMemcpyDeviceToHost));
  for (int x : a)
    if (x % 3 == 0)
      wanted += x * x;
  for (int i = 0; i < count; i++)
    got += scans[i] * scans[i];
  SAME (got, wanted);
  CHECK (cudaMemset (s, 0, 4));
  int m = n, blocks = 2;
  void *args[] = { &d, &s, &m };
  CHECK (cudaLaunchCooperativeKernel ((void *)grid_sum, dim3 (blocks), dim3 (64), args, 0, nullptr));
  CHECK (cudaMemcpy (scans.data (), d, 4 * n, cudaMemcpyDeviceToHost));
  int all = 0;
  for (int x : a)
    all += x;
  for (int i = 0; i < n; i++)
    SAME (scans[i], all - a[i]);
  halves<<<1, 32>>> (d);
  CHECK (cudaMemcpy (scans.data (), d, 128, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    SAME (scans[i], i % 3 ? 2100 + i - i / 3 - 1 : 11100 + i / 3);
  check_others (a, d, t, 8);
  check_others (a, d, t, 32);
  std::puts ("groups: right");
}
