/* Reductions over tiles and over the threads that are together (CUDA C++ Programming Guide, "Cooperative Groups").  */
#ifndef GOMPY_COOPERATIVE_GROUPS_REDUCE_H
#define GOMPY_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"
#ifdef __CUDA__

namespace cooperative_groups
{

#define GOMPY_OPERATION(name, expression) \
  template <typename T> struct name \
  { \
    __attribute__ ((host, device)) T operator() (T a, T b) const { return expression; } \
  };
GOMPY_OPERATION (plus, a + b)
GOMPY_OPERATION (less, b < a ? b : a)
GOMPY_OPERATION (greater, a < b ? b : a)
GOMPY_OPERATION (bit_and, a & b)
GOMPY_OPERATION (bit_xor, a ^ b)
GOMPY_OPERATION (bit_or, a | b)
#undef GOMPY_OPERATION

/* All threads of the group get the result.  */
template <unsigned Size, typename Parent, typename T, typename Op>
GOMPY_GROUP T
reduce (const thread_block_tile<Size, Parent> &group, T value, Op op)
{
#pragma unroll
  for (unsigned step = Size / 2; step; step /= 2)
    value = op (value, group.shfl_xor (value, step));
  return value;
}

template <typename T, typename Op>
GOMPY_GROUP T
reduce (const coalesced_group &group, T value, Op op)
{
  for (unsigned left = group.num_threads (); left > 1; left = (left + 1) / 2)
    {
      unsigned half = (left + 1) / 2;
      T other = group.shfl_down (value, half);
      if (group.thread_rank () + half < left)
        value = op (value, other);
    }
  return group.shfl (value, 0);
}

/* One thread hands the result to a cuda::atomic; the others go on.  */
template <typename Group, typename Atomic, typename T, typename Op>
GOMPY_GROUP void
reduce_store_async (const Group &group, Atomic &to, T value, Op op)
{
  T result = reduce (group, value, op);
  if (group.thread_rank () == 0)
    to.store (result, Atomic::gompy_relaxed);
}

template <typename Group, typename Atomic, typename T, typename Op>
GOMPY_GROUP void
reduce_update_async (const Group &group, Atomic &to, T value, Op op)
{
  T result = reduce (group, value, op);
  if (group.thread_rank () == 0)
    to.gompy_update ([=] (T before) { return op (before, result); }, Atomic::gompy_relaxed);
}

}

#endif
#endif
