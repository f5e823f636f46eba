/* __nv_bfloat16 and __nv_bfloat162 (CUDA Math API): the upper half of a float.  Arithmetic is that of floats, rounded,
   which is exact for single operations; fma by the instruction from sm_80 on.  */
#ifndef GOMPY_CUDA_BF16_H
#define GOMPY_CUDA_BF16_H

#include "cuda_fp16.h"

typedef struct __attribute__ ((aligned (2))) { unsigned short x; } __nv_bfloat16_raw;
typedef struct __attribute__ ((aligned (4))) { unsigned short x, y; } __nv_bfloat162_raw;

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

struct __attribute__ ((aligned (2))) __nv_bfloat16
{
  unsigned short gompy_word;

  __nv_bfloat16 () = default;
  GOMPY_MEMBER __nv_bfloat16 (const __nv_bfloat16_raw &from) : gompy_word (from.x) {}
  GOMPY_MEMBER __nv_bfloat16 (float from) : gompy_word (gompy_bfloat16_bits (from, GOMPY_NEAREST)) {}
  GOMPY_MEMBER __nv_bfloat16 (double from) : __nv_bfloat16 (gompy_odd_float (from)) {}
  GOMPY_MEMBER __nv_bfloat16 (int from) : __nv_bfloat16 ((double) from) {}
  GOMPY_MEMBER __nv_bfloat16 (unsigned from) : __nv_bfloat16 ((double) from) {}
  GOMPY_MEMBER __nv_bfloat16 (short from) : __nv_bfloat16 ((float) from) {}
  GOMPY_MEMBER __nv_bfloat16 (unsigned short from) : __nv_bfloat16 ((float) from) {}
  GOMPY_MEMBER __nv_bfloat16 (long from) : __nv_bfloat16 ((double) from) {}
  GOMPY_MEMBER __nv_bfloat16 (unsigned long from) : __nv_bfloat16 ((double) from) {}
  GOMPY_MEMBER __nv_bfloat16 (long long from) : __nv_bfloat16 ((double) from) {}
  GOMPY_MEMBER __nv_bfloat16 (unsigned long long from) : __nv_bfloat16 ((double) from) {}
  GOMPY_MEMBER operator float () const { return __builtin_bit_cast (float, (unsigned) gompy_word << 16); }
  GOMPY_MEMBER operator __nv_bfloat16_raw () const { return __nv_bfloat16_raw { gompy_word }; }
};
typedef __nv_bfloat16 nv_bfloat16;

struct __attribute__ ((aligned (4))) __nv_bfloat162
{
  __nv_bfloat16 x, y;

  __nv_bfloat162 () = default;
  GOMPY_MEMBER __nv_bfloat162 (const __nv_bfloat16 &x, const __nv_bfloat16 &y) : x (x), y (y) {}
  GOMPY_MEMBER __nv_bfloat162 (const __nv_bfloat162_raw &from)
    : x (__nv_bfloat16_raw { from.x }), y (__nv_bfloat16_raw { from.y }) {}
  GOMPY_MEMBER operator __nv_bfloat162_raw () const { return __nv_bfloat162_raw { x.gompy_word, y.gompy_word }; }
};
typedef __nv_bfloat162 nv_bfloat162;

GOMPY_BOTH unsigned short gompy_bits (__nv_bfloat16 a) { return a.gompy_word; }
GOMPY_BOTH __nv_bfloat16
gompy_round_bfloat16 (float from, gompy_rounding how)
{
  return gompy_with_bits<__nv_bfloat16> (gompy_bfloat16_bits (from, how));
}

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
GOMPY_SHORT_FUNCTIONS (__nv_bfloat16, __nv_bfloat162)
GOMPY_SHORT_MATHS (__nv_bfloat16, __nv_bfloat162)
GOMPY_SHORT_INTEGERS (__nv_bfloat16, bfloat16)

GOMPY_BOTH float __bfloat162float (__nv_bfloat16 a) { return float (a); }
GOMPY_BOTH __nv_bfloat16 __float2bfloat16 (float a) { return __nv_bfloat16 (a); }
GOMPY_BOTH __nv_bfloat16 __float2bfloat16_rn (float a) { return __nv_bfloat16 (a); }
GOMPY_BOTH __nv_bfloat16 __float2bfloat16_rz (float a) { return gompy_round_bfloat16 (a, GOMPY_ZERO); }
GOMPY_BOTH __nv_bfloat16 __float2bfloat16_rd (float a) { return gompy_round_bfloat16 (a, GOMPY_DOWN); }
GOMPY_BOTH __nv_bfloat16 __float2bfloat16_ru (float a) { return gompy_round_bfloat16 (a, GOMPY_UP); }
GOMPY_BOTH __nv_bfloat16 __double2bfloat16 (double a) { return __nv_bfloat16 (a); }
GOMPY_BOTH __nv_bfloat162
__floats2bfloat162_rn (float a, float b)
{
  return __nv_bfloat162 (__nv_bfloat16 (a), __nv_bfloat16 (b));
}
GOMPY_BOTH __nv_bfloat162 __float2bfloat162_rn (float a) { return __floats2bfloat162_rn (a, a); }
GOMPY_BOTH __nv_bfloat162 __float22bfloat162_rn (float2 a) { return __floats2bfloat162_rn (a.x, a.y); }
GOMPY_BOTH float2 __bfloat1622float2 (__nv_bfloat162 a) { return float2 { float (a.x), float (a.y) }; }
GOMPY_BOTH float __low2float (__nv_bfloat162 a) { return float (a.x); }
GOMPY_BOTH float __high2float (__nv_bfloat162 a) { return float (a.y); }
GOMPY_BOTH __nv_bfloat16 __low2bfloat16 (__nv_bfloat162 a) { return a.x; }
GOMPY_BOTH __nv_bfloat16 __high2bfloat16 (__nv_bfloat162 a) { return a.y; }
GOMPY_BOTH __nv_bfloat162 __bfloat162bfloat162 (__nv_bfloat16 a) { return __nv_bfloat162 (a, a); }
GOMPY_BOTH __nv_bfloat162 __halves2bfloat162 (__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162 (a, b); }
GOMPY_BOTH __nv_bfloat162 make_bfloat162 (__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162 (a, b); }
GOMPY_BOTH __nv_bfloat162 __low2bfloat162 (__nv_bfloat162 a) { return __nv_bfloat162 (a.x, a.x); }
GOMPY_BOTH __nv_bfloat162 __high2bfloat162 (__nv_bfloat162 a) { return __nv_bfloat162 (a.y, a.y); }

#ifdef __CUDA__
GOMPY_SHORT_MOVED (__nv_bfloat16, unsigned short)
GOMPY_SHORT_MOVED (__nv_bfloat162, unsigned)
GOMPY_SHORT_DEVICE __nv_bfloat16
atomicAdd (__nv_bfloat16 *at, __nv_bfloat16 value)
{
  return gompy_atomic_add_short (at, value);
}
GOMPY_SHORT_DEVICE __nv_bfloat162
atomicAdd (__nv_bfloat162 *at, __nv_bfloat162 value)
{
  return gompy_atomic_add_pair (at, value);
}
#endif

#endif
