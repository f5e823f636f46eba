/* Scans over tiles and over the threads that are together (CUDA C++ Programming Guide, "Cooperative Groups").  */
#ifndef GOMPY_COOPERATIVE_GROUPS_SCAN_H
#define GOMPY_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"
#ifdef __CUDA__

namespace cooperative_groups
{

template <typename Group, typename T, typename Op = plus<T>>
GOMPY_GROUP T
inclusive_scan (const Group &group, T value, Op op = Op ())
{
  for (unsigned step = 1; step < group.num_threads (); step *= 2)
    {
      T other = group.shfl_up (value, step);
      if (group.thread_rank () >= step)
        value = op (other, value);
    }
  return value;
}

/* The first thread gets T ().  */
template <typename Group, typename T, typename Op = plus<T>>
GOMPY_GROUP T
exclusive_scan (const Group &group, T value, Op op = Op ())
{
  T before = group.shfl_up (inclusive_scan (group, value, op), 1);
  return group.thread_rank () ? before : T ();
}

/* The group's sum goes to a cuda::atomic; what was there comes before each thread's result.  */
template <typename Group, typename Atomic, typename T, typename Op = plus<T>>
GOMPY_GROUP T
inclusive_scan_update (const Group &group, Atomic &to, T value, Op op = Op ())
{
  T scanned = inclusive_scan (group, value, op), before = T ();
  if (group.thread_rank () == group.num_threads () - 1)
    before = to.gompy_update ([=] (T old) { return op (old, scanned); }, Atomic::gompy_relaxed);
  return op (group.shfl (before, group.num_threads () - 1), scanned);
}

template <typename Group, typename Atomic, typename T, typename Op = plus<T>>
GOMPY_GROUP T
exclusive_scan_update (const Group &group, Atomic &to, T value, Op op = Op ())
{
  T scanned = inclusive_scan (group, value, op), before = T ();
  if (group.thread_rank () == group.num_threads () - 1)
    before = to.gompy_update ([=] (T old) { return op (old, scanned); }, Atomic::gompy_relaxed);
  before = group.shfl (before, group.num_threads () - 1);
  T left = group.shfl_up (scanned, 1);
  return group.thread_rank () ? op (before, left) : before;
}

}

#endif
#endif
