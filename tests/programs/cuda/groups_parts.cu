/* Cooperative groups: tiles as parameters, parts of parts, one thread for all, results handed to atomics.  */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include "check.h"
namespace cg = cooperative_groups;
typedef cuda::atomic<int, cuda::thread_scope_device> counter;

__device__ int
largest (cg::thread_block_tile<8> &tile, int value)
{
  return cg::reduce (tile, value, cg::greater<int> ()) * 100 + tile.meta_group_rank () * 10 + tile.meta_group_size ();
}

__global__ void
parts (int *out, counter *sums)
{
  __shared__ int copied[64];
  cg::thread_block block = cg::this_thread_block ();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32> (block);
  cg::thread_block_tile<8> tile = cg::tiled_partition<8> (warp);
  unsigned me = block.thread_rank ();
  out[me] = largest (tile, me);
  int same;
  out[64 + me] = tile.match_all (me / 8, same) + same * 1000;
  auto odd = cg::binary_partition (warp, me & 1);
  out[128 + me] = odd.meta_group_rank () * 100 + odd.meta_group_size () * 10 + odd.thread_rank () % 10;
  auto label = cg::labeled_partition (warp, me % 3);
  out[192 + me] = label.meta_group_rank () * 100 + label.meta_group_size () * 10 + label.num_threads () % 10;
  auto few = cg::tiled_partition<4> (label);
  out[256 + me] = few.meta_group_rank () * 100 + few.meta_group_size () * 10 + few.num_threads ();
  cg::invoke_one (block, [&] (int value) { out[320] = value; }, 77);
  out[321 + warp.meta_group_rank ()] = cg::invoke_one_broadcast (warp, [&] { return (int) me + 5; });
  cg::reduce_update_async (warp, sums[0], 2, cg::plus<int> ());
  cg::reduce_store_async (warp, sums[1], (int) warp.thread_rank (), cg::greater<int> ());
  out[384 + me] = cg::exclusive_scan_update (warp, sums[2], 1);
  out[448 + me] = cg::inclusive_scan_update (warp, sums[3], 1, cg::plus<int> ());
  cg::memcpy_async (block, copied, 60, out + 384, 64);
  cg::wait (block);
  auto token = block.barrier_arrive ();
  block.barrier_wait (std::move (token));
  cg::synchronize (block);
  out[512 + me] = copied[me < 60 ? me : 0] - out[384 + (me < 60 ? me : 0)] + cg::group_size (block);
}

int
main ()
{
  int *out;
  counter *sums;
  CHECK (cudaMallocManaged (&out, 640 * sizeof *out));
  CHECK (cudaMallocManaged (&sums, 4 * sizeof *sums));
  for (int i = 0; i < 4; i++)
    sums[i] = 0;
  parts<<<1, 64>>> (out, sums);
  CHECK (cudaDeviceSynchronize ());
  int seen[2] = { 0, 0 };
  for (int i = 0; i < 64; i++)
    {
      SAME (out[i], (i / 8 * 8 + 7) * 100 + i % 32 / 8 * 10 + 4);
      SAME (out[64 + i], 255 + 1000);
      SAME (out[128 + i], i % 2 * 100 + 20 + i % 32 / 2 % 10);
      SAME (out[192 + i] % 100, 30 + (i < 32 ? (i % 3 < 2 ? 1 : 0) : (i % 3 == 1 ? 0 : 1)));
      SAME (out[256 + i] / 10 % 10, 3);
      SAME (out[512 + i], 64);
      for (int kind = 0; kind < 2; kind++)
        seen[kind] += out[384 + 64 * kind + i];
    }
  SAME (out[320], 77);
  SAME (out[321], 5);
  SAME (out[322], 37);
  SAME (sums[0].load (), 128);
  SAME (sums[1].load (), 31);
  SAME (sums[2].load (), 64);
  SAME (seen[0], 63 * 64 / 2);
  SAME (seen[1], 64 * 65 / 2);
  std::printf ("groups_parts: right\n");
  return 0;
}
