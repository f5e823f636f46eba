/* __half and __half2 (CUDA Math API): storage of 16 bits, arithmetic by the device's instructions, on the host by
   floats that are rounded.  */
#ifndef GOMPY_CUDA_FP16_H
#define GOMPY_CUDA_FP16_H

#include "gompy_short_floats.h"

GOMPY_BOTH unsigned short
gompy_half_bits (float from, gompy_rounding how)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 530
  unsigned short to;
  if (how == GOMPY_NEAREST)
    {
      asm ("cvt.rn.f16.f32 %0, %1;" : "=h" (to) : "f" (from));
      return to;
    }
#endif
  return gompy_short_bits (from, 10, 15, how);
}

GOMPY_BOTH float
gompy_half_float (unsigned short bits)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 530
  float to;
  asm ("cvt.f32.f16 %0, %1;" : "=f" (to) : "h" (bits));
  return to;
#else
  unsigned sign = (unsigned) (bits & 0x8000) << 16, exponent = bits >> 10 & 31, digits = bits & 0x3ff;
  if (exponent == 0)
    return __builtin_bit_cast (float, sign | __builtin_bit_cast (unsigned, (float) digits * 0x1p-24f));
  return __builtin_bit_cast (float, sign | (exponent == 31 ? 255 : exponent + 112) << 23 | digits << 13);
#endif
}

GOMPY_SHORT_TYPES (__half, __half2, half)
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 530
#define GOMPY_HALF_OF_TWO(name, words, otherwise) \
  GOMPY_BOTH __half name (__half a, __half b) \
  { \
    unsigned short to; \
    asm (words " %0, %1, %2;" : "=h" (to) : "h" (a.gompy_word), "h" (b.gompy_word)); \
    return gompy_with_bits<__half> (to); \
  }
GOMPY_BOTH __half
gompy_fma (__half a, __half b, __half c)
{
  unsigned short to;
  asm ("fma.rn.f16 %0, %1, %2, %3;" : "=h" (to) : "h" (a.gompy_word), "h" (b.gompy_word), "h" (c.gompy_word));
  return gompy_with_bits<__half> (to);
}
#else
#define GOMPY_HALF_OF_TWO(name, words, otherwise) \
  GOMPY_BOTH __half name (__half a, __half b) { return __half (float (a) otherwise float (b)); }
GOMPY_BOTH __half
gompy_fma (__half a, __half b, __half c)
{
  return __half ((double) float (a) * float (b) + float (c));
}
#endif
GOMPY_HALF_OF_TWO (gompy_add, "add.rn.f16", +)
GOMPY_HALF_OF_TWO (gompy_mul, "mul.rn.f16", *)
GOMPY_SHORT_ALL (__half, __half2, half)

#define CUDART_INF_FP16 __ushort_as_half ((unsigned short) 0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half ((unsigned short) 0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half ((unsigned short) 0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half ((unsigned short) 0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half ((unsigned short) 0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half ((unsigned short) 0x0000)
#define CUDART_ONE_FP16 __ushort_as_half ((unsigned short) 0x3c00)

#endif
