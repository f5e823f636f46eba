/* __nv_bfloat16 and __nv_bfloat162 (CUDA Math API): the upper half of a float.  Arithmetic is that of floats, rounded,
   which is exact for single operations; fma by the instruction from sm_80 on.  */
#ifndef GOMPY_CUDA_BF16_H
#define GOMPY_CUDA_BF16_H

#include "cuda_fp16.h"

GOMPY_BOTH unsigned short
gompy_bfloat16_bits (float from, gompy_rounding how)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  unsigned short to;
  if (how == GOMPY_NEAREST)
    {
      asm ("cvt.rn.bf16.f32 %0, %1;" : "=h" (to) : "f" (from));
      return to;
    }
#endif
  return gompy_short_bits (from, 7, 127, how);
}

GOMPY_BOTH float
gompy_bfloat16_float (unsigned short bits)
{
  return __builtin_bit_cast (float, (unsigned) bits << 16);
}

GOMPY_SHORT_TYPES (__nv_bfloat16, __nv_bfloat162, bfloat16)

GOMPY_BOTH __nv_bfloat16 gompy_add (__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16 (float (a) + float (b)); }
GOMPY_BOTH __nv_bfloat16 gompy_mul (__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16 (float (a) * float (b)); }
GOMPY_BOTH __nv_bfloat16
gompy_fma (__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  unsigned short to;
  asm ("fma.rn.bf16 %0, %1, %2, %3;" : "=h" (to) : "h" (a.gompy_word), "h" (b.gompy_word), "h" (c.gompy_word));
  return gompy_with_bits<__nv_bfloat16> (to);
#else
  return __nv_bfloat16 ((double) float (a) * float (b) + float (c));
#endif
}
GOMPY_SHORT_ALL (__nv_bfloat16, __nv_bfloat162, bfloat16)

#define CUDART_INF_BF16 __ushort_as_bfloat16 ((unsigned short) 0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16 ((unsigned short) 0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16 ((unsigned short) 0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16 ((unsigned short) 0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16 ((unsigned short) 0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16 ((unsigned short) 0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16 ((unsigned short) 0x3f80)

#endif
