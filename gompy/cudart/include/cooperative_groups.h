/* Cooperative groups: blocks, grids, tiles of warps, the threads that are together now (CUDA C++ Programming Guide).

   A grid's barrier is two words of the launch's own, to which %envreg1 and %envreg2 lead: the second one counts, and
   its highest bit changes when all blocks have come.  */
#ifndef GOMPY_COOPERATIVE_GROUPS_H
#define GOMPY_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#ifdef __CUDA__

#define GOMPY_GROUP __inline__ __attribute__ ((device, always_inline))

namespace cooperative_groups
{

class thread_block
{
public:
  GOMPY_GROUP static void sync () { __syncthreads (); }
  GOMPY_GROUP static unsigned thread_rank ()
  {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  GOMPY_GROUP static unsigned num_threads () { return blockDim.x * blockDim.y * blockDim.z; }
  GOMPY_GROUP static unsigned size () { return num_threads (); }
  GOMPY_GROUP static dim3 group_index () { return dim3 (blockIdx.x, blockIdx.y, blockIdx.z); }
  GOMPY_GROUP static dim3 thread_index () { return dim3 (threadIdx.x, threadIdx.y, threadIdx.z); }
  GOMPY_GROUP static dim3 group_dim () { return dim3 (blockDim.x, blockDim.y, blockDim.z); }
  GOMPY_GROUP static dim3 dim_threads () { return group_dim (); }
};

GOMPY_GROUP thread_block this_thread_block () { return thread_block (); }

class grid_group
{
  GOMPY_GROUP static volatile unsigned *workspace ()
  {
    unsigned low, high;
    asm ("mov.u32 %0, %%envreg1;" : "=r" (low));
    asm ("mov.u32 %0, %%envreg2;" : "=r" (high));
    return reinterpret_cast<volatile unsigned *> ((unsigned long long) high << 32 | low);
  }

public:
  /* Whether the launch was cooperative.  */
  GOMPY_GROUP static bool is_valid () { return workspace () != 0; }

  GOMPY_GROUP static void sync ()
  {
    volatile unsigned *arrived = workspace ();
    if (!arrived)
      __builtin_trap ();
    __syncthreads ();
    if (thread_block::thread_rank () == 0)
      {
        unsigned share = block_rank () == 0 ? 0x80000000u - (num_blocks () - 1) : 1;
        __threadfence ();
        unsigned before = atomicAdd (const_cast<unsigned *> (arrived + 1), share);
        while (((before ^ arrived[1]) & 0x80000000u) == 0)
          ;
        __threadfence ();
      }
    __syncthreads ();
  }

  GOMPY_GROUP static unsigned num_blocks () { return gridDim.x * gridDim.y * gridDim.z; }
  GOMPY_GROUP static unsigned block_rank ()
  {
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  GOMPY_GROUP static unsigned long long thread_rank ()
  {
    return (unsigned long long) block_rank () * thread_block::num_threads () + thread_block::thread_rank ();
  }
  GOMPY_GROUP static unsigned long long num_threads ()
  {
    return (unsigned long long) num_blocks () * thread_block::num_threads ();
  }
  GOMPY_GROUP static unsigned long long size () { return num_threads (); }
  GOMPY_GROUP static dim3 block_index () { return thread_block::group_index (); }
  GOMPY_GROUP static dim3 dim_blocks () { return dim3 (gridDim.x, gridDim.y, gridDim.z); }
  GOMPY_GROUP static dim3 group_dim () { return dim_blocks (); }
};

GOMPY_GROUP grid_group this_grid () { return grid_group (); }

/* So many threads of a warp, beside each other: a power of two, 32 at most.  */
template <unsigned Size, typename Parent = void>
class thread_block_tile
{
  static_assert (Size && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  GOMPY_GROUP static unsigned mask ()
  {
    return (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << (thread_block::thread_rank () % 32 / Size * Size);
  }
  GOMPY_GROUP static unsigned first () { return thread_block::thread_rank () % 32 / Size * Size; }

public:
  GOMPY_GROUP static void sync () { __syncwarp (mask ()); }
  GOMPY_GROUP static unsigned thread_rank () { return thread_block::thread_rank () % Size; }
  GOMPY_GROUP static constexpr unsigned num_threads () { return Size; }
  GOMPY_GROUP static constexpr unsigned size () { return Size; }
  GOMPY_GROUP static unsigned meta_group_rank () { return thread_block::thread_rank () / Size; }
  GOMPY_GROUP static unsigned meta_group_size () { return (thread_block::num_threads () + Size - 1) / Size; }
  template <typename T> GOMPY_GROUP static T shfl (T value, unsigned of)
  {
    return __shfl_sync (mask (), value, of, Size);
  }
  template <typename T> GOMPY_GROUP static T shfl_up (T value, unsigned by)
  {
    return __shfl_up_sync (mask (), value, by, Size);
  }
  template <typename T> GOMPY_GROUP static T shfl_down (T value, unsigned by)
  {
    return __shfl_down_sync (mask (), value, by, Size);
  }
  template <typename T> GOMPY_GROUP static T shfl_xor (T value, unsigned bits)
  {
    return __shfl_xor_sync (mask (), value, bits, Size);
  }
  GOMPY_GROUP static int any (int what) { return (__ballot_sync (mask (), what) & mask ()) != 0; }
  GOMPY_GROUP static int all (int what) { return (__ballot_sync (mask (), what) & mask ()) == mask (); }
  GOMPY_GROUP static unsigned ballot (int what) { return (__ballot_sync (mask (), what) & mask ()) >> first (); }
};

template <unsigned Size, typename Parent>
GOMPY_GROUP thread_block_tile<Size, Parent>
tiled_partition (const Parent &)
{
  return thread_block_tile<Size, Parent> ();
}

/* The threads of a warp that were together when the group was made.  */
class coalesced_group
{
  unsigned mask;

  GOMPY_GROUP static unsigned lane ()
  {
    unsigned found;
    asm ("mov.u32 %0, %%laneid;" : "=r" (found));
    return found;
  }

  /* The lane of a thread by its rank.  */
  GOMPY_GROUP unsigned lane_of (unsigned rank) const
  {
    unsigned left = mask;
    for (unsigned at = 0; at < rank; at++)
      left &= left - 1;
    return __ffs (left) - 1;
  }

public:
  GOMPY_GROUP explicit coalesced_group (unsigned lanes) : mask (lanes) {}
  GOMPY_GROUP void sync () const { __syncwarp (mask); }
  GOMPY_GROUP unsigned thread_rank () const { return __popc (mask & ((1u << lane ()) - 1)); }
  GOMPY_GROUP unsigned num_threads () const { return __popc (mask); }
  GOMPY_GROUP unsigned size () const { return num_threads (); }
  template <typename T> GOMPY_GROUP T shfl (T value, unsigned of) const
  {
    return __shfl_sync (mask, value, lane_of (of % num_threads ()));
  }
  GOMPY_GROUP int any (int what) const { return (__ballot_sync (mask, what) & mask) != 0; }
  GOMPY_GROUP int all (int what) const { return (__ballot_sync (mask, what) & mask) == mask; }
};

GOMPY_GROUP coalesced_group coalesced_threads () { return coalesced_group (__activemask ()); }

template <typename Group>
GOMPY_GROUP void
sync (const Group &group)
{
  group.sync ();
}

template <typename Group>
GOMPY_GROUP auto
thread_rank (const Group &group)
{
  return group.thread_rank ();
}

}

#endif
#endif
