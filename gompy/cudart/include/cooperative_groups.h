/* Cooperative groups: blocks, grids, tiles of warps, the threads that are together now (CUDA C++ Programming Guide).

   A grid's barrier is two words of the launch's own, to which %envreg1 and %envreg2 lead: the second one counts, and
   its highest bit changes when all blocks have come.  */
#ifndef GOMPY_COOPERATIVE_GROUPS_H
#define GOMPY_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#ifdef __CUDA__

#define GOMPY_GROUP __inline__ __attribute__ ((device, always_inline, nodebug))

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
  /* A barrier in two steps: here all threads wait in the second one for each other.  */
  struct arrival_token {};
  GOMPY_GROUP static arrival_token barrier_arrive () { return arrival_token (); }
  GOMPY_GROUP static void barrier_wait (arrival_token &&) { sync (); }
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
  typedef thread_block::arrival_token arrival_token;
  GOMPY_GROUP static arrival_token barrier_arrive () { return arrival_token (); }
  GOMPY_GROUP static void barrier_wait (arrival_token &&) { sync (); }
};

GOMPY_GROUP grid_group this_grid () { return grid_group (); }

/* Values of any type go from lane to lane in words.  */
template <typename T, typename Move>
GOMPY_GROUP T
gompy_moved (T value, Move move)
{
  if constexpr (__is_class (T) || sizeof (T) < 4)
    {
      unsigned words[(sizeof (T) + 3) / 4] = {};
      __builtin_memcpy (words, &value, sizeof (T));
#pragma unroll
      for (unsigned &word : words)
        word = move (word);
      __builtin_memcpy (&value, words, sizeof (T));
      return value;
    }
  else
    return move (value);
}

GOMPY_GROUP unsigned
gompy_lane ()
{
  unsigned found;
  asm ("mov.u32 %0, %%laneid;" : "=r" (found));
  return found;
}

template <unsigned Size, typename Parent = void> class thread_block_tile;

/* How many threads the group has that a tile is of.  */
template <typename Group> struct gompy_parent
{
  GOMPY_GROUP static unsigned size () { return thread_block::num_threads (); }
};
template <unsigned Size, typename Parent> struct gompy_parent<thread_block_tile<Size, Parent>>
{
  GOMPY_GROUP static unsigned size () { return Size; }
};

/* So many threads of a warp, beside each other: a power of two, 32 at most.  */
template <unsigned Size>
class gompy_tile
{
  static_assert (Size && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  GOMPY_GROUP static unsigned first () { return thread_block::thread_rank () % 32 / Size * Size; }

public:
  GOMPY_GROUP static unsigned gompy_mask () { return (Size == 32 ? 0xffffffffu : (1u << Size % 32) - 1) << first (); }
  GOMPY_GROUP static void sync () { __syncwarp (gompy_mask ()); }
  GOMPY_GROUP static unsigned thread_rank () { return thread_block::thread_rank () % Size; }
  GOMPY_GROUP static constexpr unsigned num_threads () { return Size; }
  GOMPY_GROUP static constexpr unsigned size () { return Size; }
  template <typename T> GOMPY_GROUP static T shfl (T value, unsigned of)
  {
    return gompy_moved (value, [=] (auto x) { return __shfl_sync (gompy_mask (), x, of, Size); });
  }
  template <typename T> GOMPY_GROUP static T shfl_up (T value, unsigned by)
  {
    return gompy_moved (value, [=] (auto x) { return __shfl_up_sync (gompy_mask (), x, by, Size); });
  }
  template <typename T> GOMPY_GROUP static T shfl_down (T value, unsigned by)
  {
    return gompy_moved (value, [=] (auto x) { return __shfl_down_sync (gompy_mask (), x, by, Size); });
  }
  template <typename T> GOMPY_GROUP static T shfl_xor (T value, unsigned bits)
  {
    return gompy_moved (value, [=] (auto x) { return __shfl_xor_sync (gompy_mask (), x, bits, Size); });
  }
  GOMPY_GROUP static int any (int what) { return ballot (what) != 0; }
  GOMPY_GROUP static int all (int what) { return ballot (!what) == 0; }
  GOMPY_GROUP static unsigned ballot (int what)
  {
    return (__ballot_sync (gompy_mask (), what) & gompy_mask ()) >> first ();
  }
  template <typename T> GOMPY_GROUP static unsigned match_any (T value)
  {
    return (__match_any_sync (gompy_mask (), value) & gompy_mask ()) >> first ();
  }
  /* The threads that have this value if all have it, else none.  */
  template <typename T> GOMPY_GROUP static unsigned match_all (T value, int &same)
  {
    unsigned lanes = match_any (value), every = gompy_mask () >> first ();
    same = lanes == every;
    return same ? every : 0;
  }
};

/* A tile that knows what it is a part of.  */
template <unsigned Size, typename Parent>
class thread_block_tile : public gompy_tile<Size>
{
public:
  GOMPY_GROUP static unsigned meta_group_rank ()
  {
    return thread_block::thread_rank () % gompy_parent<Parent>::size () / Size;
  }
  GOMPY_GROUP static unsigned meta_group_size () { return (gompy_parent<Parent>::size () + Size - 1) / Size; }
};

/* Any such tile: a function's parameter.  */
template <unsigned Size>
class thread_block_tile<Size, void> : public gompy_tile<Size>
{
  unsigned rank, count;

public:
  template <typename Parent>
  GOMPY_GROUP thread_block_tile (const thread_block_tile<Size, Parent> &tile)
      : rank (tile.meta_group_rank ()), count (tile.meta_group_size ())
  {
  }
  GOMPY_GROUP unsigned meta_group_rank () const { return rank; }
  GOMPY_GROUP unsigned meta_group_size () const { return count; }
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
  unsigned mask, part = 0, parts = 1;

  /* The lane of a thread by its rank.  */
  GOMPY_GROUP unsigned lane_of (unsigned rank) const
  {
    unsigned left = mask;
    for (unsigned at = 0; at < rank; at++)
      left &= left - 1;
    return __ffs (left) - 1;
  }
  GOMPY_GROUP unsigned ranks (unsigned lanes) const
  {
    unsigned found = 0, rank = 0;
    for (unsigned left = mask; left; left &= left - 1, rank++)
      found |= (lanes & (left & (0u - left)) ? 1u : 0u) << rank;
    return found;
  }

public:
  GOMPY_GROUP explicit coalesced_group (unsigned lanes) : mask (lanes) {}
  GOMPY_GROUP coalesced_group (unsigned lanes, unsigned rank, unsigned count)
      : mask (lanes), part (rank), parts (count)
  {
  }
  template <unsigned Size, typename Parent>
  GOMPY_GROUP coalesced_group (const thread_block_tile<Size, Parent> &tile)
      : mask (tile.gompy_mask ()), part (tile.meta_group_rank ()), parts (tile.meta_group_size ())
  {
  }
  /* Which of the groups this is that were made together, and how many these are.  */
  GOMPY_GROUP unsigned meta_group_rank () const { return part; }
  GOMPY_GROUP unsigned meta_group_size () const { return parts; }
  GOMPY_GROUP unsigned gompy_mask () const { return mask; }
  GOMPY_GROUP void sync () const { __syncwarp (mask); }
  GOMPY_GROUP unsigned thread_rank () const { return __popc (mask & ((1u << gompy_lane ()) - 1)); }
  GOMPY_GROUP unsigned num_threads () const { return __popc (mask); }
  GOMPY_GROUP unsigned size () const { return num_threads (); }
  template <typename T> GOMPY_GROUP T shfl (T value, unsigned of) const
  {
    unsigned lanes = mask, from = lane_of (of % num_threads ());
    return gompy_moved (value, [=] (auto x) { return __shfl_sync (lanes, x, from); });
  }
  /* Who has no such neighbour keeps its own.  */
  template <typename T> GOMPY_GROUP T shfl_up (T value, unsigned by) const
  {
    return shfl (value, thread_rank () >= by ? thread_rank () - by : thread_rank ());
  }
  template <typename T> GOMPY_GROUP T shfl_down (T value, unsigned by) const
  {
    return shfl (value, thread_rank () + by < num_threads () ? thread_rank () + by : thread_rank ());
  }
  GOMPY_GROUP int any (int what) const { return (__ballot_sync (mask, what) & mask) != 0; }
  GOMPY_GROUP int all (int what) const { return (__ballot_sync (mask, what) & mask) == mask; }
  GOMPY_GROUP unsigned ballot (int what) const { return ranks (__ballot_sync (mask, what) & mask); }
  template <typename T> GOMPY_GROUP unsigned match_any (T value) const
  {
    return ranks (__match_any_sync (mask, value) & mask);
  }
  template <typename T> GOMPY_GROUP unsigned match_all (T value, int &same) const
  {
    unsigned lanes = __match_any_sync (mask, value) & mask;
    same = lanes == mask;
    return same ? ranks (mask) : 0;
  }
};

GOMPY_GROUP coalesced_group coalesced_threads () { return coalesced_group (__activemask ()); }

/* Parts of so many of them.  */
template <unsigned Size> GOMPY_GROUP coalesced_group tiled_partition (const coalesced_group &parent);

/* A group's threads that say the same, or give the same label.  */
template <typename Group>
GOMPY_GROUP coalesced_group
binary_partition (const Group &group, bool what)
{
  unsigned all = group.gompy_mask (), yes = __ballot_sync (all, what) & all;
  return coalesced_group (what ? yes : all & ~yes, what, 2);
}

template <typename Group, typename Label>
GOMPY_GROUP coalesced_group
labeled_partition (const Group &group, Label label)
{
  unsigned all = group.gompy_mask (), mine = __match_any_sync (all, label) & all, firsts;
  firsts = __ballot_sync (all, gompy_lane () == __ffs (mine) - 1) & all;
  return coalesced_group (mine, __popc (firsts & ((mine & (0u - mine)) - 1)), __popc (firsts));
}

/* Any group, for functions that are no templates.  */
class thread_group
{
  enum { BLOCK, GRID, LANES } kind;
  unsigned mask;

public:
  GOMPY_GROUP thread_group (const thread_block &) : kind (BLOCK), mask (0) {}
  GOMPY_GROUP thread_group (const grid_group &) : kind (GRID), mask (0) {}
  GOMPY_GROUP thread_group (const coalesced_group &group) : kind (LANES), mask (group.gompy_mask ()) {}
  template <unsigned Size, typename Parent>
  GOMPY_GROUP thread_group (const thread_block_tile<Size, Parent> &group) : kind (LANES), mask (group.gompy_mask ())
  {
  }
  GOMPY_GROUP unsigned gompy_mask () const { return mask; }
  GOMPY_GROUP bool gompy_is_block () const { return kind == BLOCK; }
  GOMPY_GROUP void sync () const
  {
    if (kind == LANES)
      __syncwarp (mask);
    else if (kind == BLOCK)
      thread_block::sync ();
    else
      grid_group::sync ();
  }
  GOMPY_GROUP unsigned long long size () const
  {
    return kind == LANES ? __popc (mask) : kind == BLOCK ? thread_block::num_threads () : grid_group::num_threads ();
  }
  GOMPY_GROUP unsigned long long num_threads () const { return size (); }
  GOMPY_GROUP unsigned long long thread_rank () const
  {
    return kind == LANES   ? __popc (mask & ((1u << gompy_lane ()) - 1))
           : kind == BLOCK ? thread_block::thread_rank ()
                           : grid_group::thread_rank ();
  }
};

/* Tiles of a size that only the running program knows: of a block, or of a tile.  */
GOMPY_GROUP thread_group
tiled_partition (const thread_group &parent, unsigned size)
{
  unsigned rank = (unsigned) parent.thread_rank () / size * size, lanes = 0, at = 0;
  if (parent.gompy_is_block ())
    lanes = (size >= 32 ? 0xffffffffu : (1u << size) - 1) << rank % 32;
  else
    for (unsigned left = parent.gompy_mask (); left; left &= left - 1, at++)
      if (at >= rank && at < rank + size)
        lanes |= left & (0u - left);
  return coalesced_group (lanes);
}

/* Parts of the threads that are together, so many in each.  */
GOMPY_GROUP coalesced_group
tiled_partition (const coalesced_group &parent, unsigned size)
{
  unsigned rank = parent.thread_rank () / size * size, lanes = 0, at = 0;
  for (unsigned left = parent.gompy_mask (); left; left &= left - 1, at++)
    if (at >= rank && at < rank + size)
      lanes |= left & (0u - left);
  return coalesced_group (lanes, rank / size, (parent.num_threads () + size - 1) / size);
}

template <unsigned Size>
GOMPY_GROUP coalesced_group
tiled_partition (const coalesced_group &parent)
{
  return tiled_partition (parent, Size);
}

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

template <typename Group>
GOMPY_GROUP void
synchronize (const Group &group)
{
  group.sync ();
}

template <typename Group>
GOMPY_GROUP auto
group_size (const Group &group)
{
  return group.size ();
}

/* One thread calls the function; the second form hands its result to all of a tile or of threads together.  */
template <typename Group, typename Function, typename... Arguments>
GOMPY_GROUP void
invoke_one (const Group &group, Function &&function, Arguments &&...arguments)
{
  if (group.thread_rank () == 0)
    function (static_cast<Arguments &&> (arguments)...);
}

template <typename Group, typename Function, typename... Arguments>
GOMPY_GROUP auto
invoke_one_broadcast (const Group &group, Function &&function, Arguments &&...arguments)
{
  decltype (function (static_cast<Arguments &&> (arguments)...)) result = {};
  if (group.thread_rank () == 0)
    result = function (static_cast<Arguments &&> (arguments)...);
  return group.shfl (result, 0);
}

}

#endif
#endif
