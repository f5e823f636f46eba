/* Shuffles of clang 14: in its header those of unsigned long long call themselves, so that a kernel with one was taken
   for code that cannot be, and was empty.  Included by cuda_runtime.h before clang's header, which this includes.  */
#ifndef GOMPY_CLANG14_SHUFFLES_H
#define GOMPY_CLANG14_SHUFFLES_H

#define __shfl gompy_clang___shfl
#define __shfl_up gompy_clang___shfl_up
#define __shfl_down gompy_clang___shfl_down
#define __shfl_xor gompy_clang___shfl_xor
#define __shfl_sync gompy_clang___shfl_sync
#define __shfl_up_sync gompy_clang___shfl_up_sync
#define __shfl_down_sync gompy_clang___shfl_down_sync
#define __shfl_xor_sync gompy_clang___shfl_xor_sync
#include <__clang_cuda_intrinsics.h>
#undef __shfl
#undef __shfl_up
#undef __shfl_down
#undef __shfl_xor
#undef __shfl_sync
#undef __shfl_up_sync
#undef __shfl_down_sync
#undef __shfl_xor_sync

/* TYPE, by clang's function for AS.  */
#define GOMPY_SHUFFLE_OF(name, lane, type, as) \
  static __inline__ __device__ type name (type value, lane other, int width = warpSize) \
  { return (type) gompy_clang_##name ((as) value, other, width); } \
  static __inline__ __device__ type name##_sync (unsigned mask, type value, lane other, int width = warpSize) \
  { return (type) gompy_clang_##name##_sync (mask, (as) value, other, width); }
#define GOMPY_SHUFFLES(name, lane) \
  GOMPY_SHUFFLE_OF (name, lane, int, int) \
  GOMPY_SHUFFLE_OF (name, lane, unsigned, unsigned) \
  GOMPY_SHUFFLE_OF (name, lane, long, long) \
  GOMPY_SHUFFLE_OF (name, lane, unsigned long, long) \
  GOMPY_SHUFFLE_OF (name, lane, long long, long long) \
  GOMPY_SHUFFLE_OF (name, lane, unsigned long long, long long) \
  GOMPY_SHUFFLE_OF (name, lane, float, float) \
  GOMPY_SHUFFLE_OF (name, lane, double, double)

GOMPY_SHUFFLES (__shfl, int)
GOMPY_SHUFFLES (__shfl_up, unsigned)
GOMPY_SHUFFLES (__shfl_down, unsigned)
GOMPY_SHUFFLES (__shfl_xor, int)

#undef GOMPY_SHUFFLES
#undef GOMPY_SHUFFLE_OF

#endif
