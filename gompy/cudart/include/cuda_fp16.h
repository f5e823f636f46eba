/* __half and __half2 (CUDA Math API): storage of 16 bits, arithmetic by the device's instructions, on the host by
   floats that are rounded.  */
#ifndef GOMPY_CUDA_FP16_H
#define GOMPY_CUDA_FP16_H

#include "gompy_short_floats.h"

typedef struct __attribute__ ((aligned (2))) { unsigned short x; } __half_raw;
typedef struct __attribute__ ((aligned (4))) { unsigned short x, y; } __half2_raw;


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

struct __attribute__ ((aligned (2))) __half
{
  unsigned short gompy_word;

  __half () = default;
  GOMPY_MEMBER __half (const __half_raw &from) : gompy_word (from.x) {}
  GOMPY_MEMBER __half (float from) : gompy_word (gompy_half_bits (from, GOMPY_NEAREST)) {}
  GOMPY_MEMBER __half (double from) : gompy_word (gompy_half_bits (gompy_odd_float (from), GOMPY_NEAREST)) {}
  GOMPY_MEMBER __half (int from) : __half ((double) from) {}
  GOMPY_MEMBER __half (unsigned from) : __half ((double) from) {}
  GOMPY_MEMBER __half (short from) : __half ((double) from) {}
  GOMPY_MEMBER __half (unsigned short from) : __half ((double) from) {}
  GOMPY_MEMBER __half (long from) : __half ((double) from) {}
  GOMPY_MEMBER __half (unsigned long from) : __half ((double) from) {}
  GOMPY_MEMBER __half (long long from) : __half ((double) from) {}
  GOMPY_MEMBER __half (unsigned long long from) : __half ((double) from) {}
  GOMPY_MEMBER operator float () const { return gompy_half_float (gompy_word); }
  GOMPY_MEMBER operator __half_raw () const { return __half_raw { gompy_word }; }
};
typedef __half half;
typedef __half __nv_half;

struct __attribute__ ((aligned (4))) __half2
{
  __half x, y;

  __half2 () = default;
  GOMPY_MEMBER __half2 (const __half &x, const __half &y) : x (x), y (y) {}
  GOMPY_MEMBER __half2 (const __half2_raw &from) : x (__half_raw { from.x }), y (__half_raw { from.y }) {}
  GOMPY_MEMBER operator __half2_raw () const { return __half2_raw { x.gompy_word, y.gompy_word }; }
};
typedef __half2 half2;
typedef __half2 __nv_half2;

GOMPY_BOTH unsigned short gompy_bits (__half a) { return a.gompy_word; }
GOMPY_BOTH __half
gompy_round_half (float from, gompy_rounding how)
{
  return gompy_with_bits<__half> (gompy_half_bits (from, how));
}

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
GOMPY_SHORT_FUNCTIONS (__half, __half2)
GOMPY_SHORT_MATHS (__half, __half2)
GOMPY_SHORT_INTEGERS (__half, half)

GOMPY_BOTH float __half2float (__half a) { return float (a); }
GOMPY_BOTH __half __float2half (float a) { return __half (a); }
GOMPY_BOTH __half __float2half_rn (float a) { return __half (a); }
GOMPY_BOTH __half __float2half_rz (float a) { return gompy_round_half (a, GOMPY_ZERO); }
GOMPY_BOTH __half __float2half_rd (float a) { return gompy_round_half (a, GOMPY_DOWN); }
GOMPY_BOTH __half __float2half_ru (float a) { return gompy_round_half (a, GOMPY_UP); }
GOMPY_BOTH __half __double2half (double a) { return __half (a); }
GOMPY_BOTH __half2 __float2half2_rn (float a) { return __half2 (__half (a), __half (a)); }
GOMPY_BOTH __half2 __floats2half2_rn (float a, float b) { return __half2 (__half (a), __half (b)); }
GOMPY_BOTH __half2 __float22half2_rn (float2 a) { return __half2 (__half (a.x), __half (a.y)); }
GOMPY_BOTH float2 __half22float2 (__half2 a) { return float2 { float (a.x), float (a.y) }; }
GOMPY_BOTH float __low2float (__half2 a) { return float (a.x); }
GOMPY_BOTH float __high2float (__half2 a) { return float (a.y); }
GOMPY_BOTH __half __low2half (__half2 a) { return a.x; }
GOMPY_BOTH __half __high2half (__half2 a) { return a.y; }
GOMPY_BOTH __half2 __half2half2 (__half a) { return __half2 (a, a); }
GOMPY_BOTH __half2 __halves2half2 (__half a, __half b) { return __half2 (a, b); }
GOMPY_BOTH __half2 make_half2 (__half a, __half b) { return __half2 (a, b); }
GOMPY_BOTH __half2 __low2half2 (__half2 a) { return __half2 (a.x, a.x); }
GOMPY_BOTH __half2 __high2half2 (__half2 a) { return __half2 (a.y, a.y); }
GOMPY_BOTH __half2 __lowhigh2highlow (__half2 a) { return __half2 (a.y, a.x); }
GOMPY_BOTH __half2 __lows2half2 (__half2 a, __half2 b) { return __half2 (a.x, b.x); }
GOMPY_BOTH __half2 __highs2half2 (__half2 a, __half2 b) { return __half2 (a.y, b.y); }

#ifdef __CUDA__
GOMPY_SHORT_MOVED (__half, unsigned short)
GOMPY_SHORT_MOVED (__half2, unsigned)
GOMPY_SHORT_DEVICE __half atomicAdd (__half *at, __half value) { return gompy_atomic_add_short (at, value); }
GOMPY_SHORT_DEVICE __half2 atomicAdd (__half2 *at, __half2 value) { return gompy_atomic_add_pair (at, value); }
#endif

#endif
