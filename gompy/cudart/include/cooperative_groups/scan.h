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

}

#endif
#endif
