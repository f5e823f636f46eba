/* What cuda_fp16.h and cuda_bf16.h share: rounding to 16 bits, and the functions that both types have by the same names
   (CUDA Math API, "Half Precision Intrinsics", "Bfloat16 Precision Intrinsics").  */
#ifndef GOMPY_SHORT_FLOATS_H
#define GOMPY_SHORT_FLOATS_H

#include "cuda_runtime.h"

#ifdef __CUDA__
#define GOMPY_BOTH static __inline__ __attribute__ ((host, device, always_inline, nodebug))
#define GOMPY_MEMBER __attribute__ ((host, device, always_inline, nodebug))
#else
#include <cmath>
#define GOMPY_BOTH static __inline__
#define GOMPY_MEMBER
#endif

enum gompy_rounding
{
  GOMPY_NEAREST,
  GOMPY_ZERO,
  GOMPY_DOWN,
  GOMPY_UP
};

template <class T>
GOMPY_BOTH T
gompy_with_bits (unsigned short bits)
{
  return __builtin_bit_cast (T, bits);
}

/* The bits of a float with a shorter mantissa and another bias.  */
GOMPY_BOTH unsigned short
gompy_short_bits (float from, int mantissa, int bias, gompy_rounding how)
{
  unsigned bits = __builtin_bit_cast (unsigned, from), size = bits & 0x7fffffff, sign = bits >> 31;
  unsigned infinite = (2u * bias + 1) << mantissa, result = infinite;
  if (size > 0x7f800000)
    return 0x7fff;
  if (size < 0x7f800000)
    {
      int exponent = (int) (size >> 23), shift = 23 - mantissa;
      unsigned digits = (size & 0x7fffff) | (exponent ? 0x800000 : 0);
      exponent = (exponent ? exponent : 1) - 127 + bias;
      if (exponent < 1)
        {
          shift = shift + 1 - exponent > 26 ? 26 : shift + 1 - exponent;
          exponent = 1;
        }
      unsigned kept = digits >> shift, rest = digits & ((1u << shift) - 1), middle = 1u << (shift - 1);
      bool up = how == GOMPY_NEAREST ? rest > middle || (rest == middle && (kept & 1))
                : how == GOMPY_UP    ? rest && !sign
                                     : how == GOMPY_DOWN && rest && sign;
      result = ((unsigned) (exponent - 1) << mantissa) + kept + up;
      bool stays = how == GOMPY_ZERO || (how == GOMPY_UP && sign) || (how == GOMPY_DOWN && !sign);
      if (result >= infinite)
        result = infinite - stays;
    }
  return (unsigned short) (result | sign << 15);
}

/* A float that rounds to 16 bits as the double does: what is lost is in its last bit.  */
GOMPY_BOTH float
gompy_odd_float (double from)
{
  float near = (float) from;
  if ((double) near == from || from != from)
    return near;
  unsigned bits = __builtin_bit_cast (unsigned, near);
  if (__builtin_fabs ((double) near) > __builtin_fabs (from))
    bits--;
  return __builtin_bit_cast (float, bits | 1);
}

template <class T>
GOMPY_BOTH T
gompy_to_integer (float x, gompy_rounding how)
{
  double r = how == GOMPY_NEAREST ? __builtin_rint ((double) x)
             : how == GOMPY_ZERO  ? __builtin_trunc ((double) x)
             : how == GOMPY_DOWN  ? __builtin_floor ((double) x)
                                  : __builtin_ceil ((double) x);
  const T low = T (-1) < T (0) ? T (1ull << (sizeof (T) * 8 - 1)) : T (0), high = T (~low);
  return r != r ? T (0) : r <= (double) low ? low : r >= (double) high ? high : (T) r;
}

/* A type of 16 bits and its vector, of NAME half or bfloat16; gompy_NAME_bits and gompy_NAME_float are their own.  */
#define GOMPY_SHORT_TYPES(T, T2, name) \
  typedef struct __attribute__ ((aligned (2))) { unsigned short x; } T##_raw; \
  typedef struct __attribute__ ((aligned (4))) { unsigned short x, y; } T2##_raw; \
  struct __attribute__ ((aligned (2))) T \
  { \
    unsigned short gompy_word; \
\
    T () = default; \
    GOMPY_MEMBER T (const T##_raw &from) : gompy_word (from.x) {} \
    GOMPY_MEMBER T (float from) : gompy_word (gompy_##name##_bits (from, GOMPY_NEAREST)) {} \
    GOMPY_MEMBER T (double from) : T (gompy_odd_float (from)) {} \
    GOMPY_MEMBER T (int from) : T ((double) from) {} \
    GOMPY_MEMBER T (unsigned from) : T ((double) from) {} \
    GOMPY_MEMBER T (short from) : T ((float) from) {} \
    GOMPY_MEMBER T (unsigned short from) : T ((float) from) {} \
    GOMPY_MEMBER T (long from) : T ((double) from) {} \
    GOMPY_MEMBER T (unsigned long from) : T ((double) from) {} \
    GOMPY_MEMBER T (long long from) : T ((double) from) {} \
    GOMPY_MEMBER T (unsigned long long from) : T ((double) from) {} \
    GOMPY_MEMBER operator float () const { return gompy_##name##_float (gompy_word); } \
    GOMPY_MEMBER operator T##_raw () const { return T##_raw { gompy_word }; } \
  }; \
  typedef T nv_##name; \
  struct __attribute__ ((aligned (4))) T2 \
  { \
    T x, y; \
\
    T2 () = default; \
    GOMPY_MEMBER T2 (const T &x, const T &y) : x (x), y (y) {} \
    GOMPY_MEMBER T2 (const T2##_raw &from) : x (T##_raw { from.x }), y (T##_raw { from.y }) {} \
    GOMPY_MEMBER operator T2##_raw () const { return T2##_raw { x.gompy_word, y.gompy_word }; } \
  }; \
  typedef T2 nv_##name##2; \
  GOMPY_BOTH unsigned short gompy_bits (T a) { return a.gompy_word; } \
  GOMPY_BOTH T \
  gompy_round_##name (float from, gompy_rounding how) \
  { \
    return gompy_with_bits<T> (gompy_##name##_bits (from, how)); \
  }

/* All that they have by the same names, or by names that differ in NAME; gompy_add, gompy_mul, gompy_fma are there.  */
#define GOMPY_SHORT_ALL(T, T2, name) \
  GOMPY_SHORT_FUNCTIONS (T, T2) \
  GOMPY_SHORT_MATHS (T, T2) \
  GOMPY_SHORT_INTEGERS (T, name) \
  GOMPY_SHORT_CONVERSIONS (T, T2, name) \
  GOMPY_SHORT_ON_DEVICE (T, T2)

/* Conversions from and to floats, and what takes pairs apart.  */
#define GOMPY_SHORT_CONVERSIONS(T, T2, name) \
  GOMPY_BOTH float __##name##2float (T a) { return float (a); } \
  GOMPY_BOTH T __float2##name (float a) { return T (a); } \
  GOMPY_BOTH T __float2##name##_rn (float a) { return T (a); } \
  GOMPY_BOTH T __float2##name##_rz (float a) { return gompy_round_##name (a, GOMPY_ZERO); } \
  GOMPY_BOTH T __float2##name##_rd (float a) { return gompy_round_##name (a, GOMPY_DOWN); } \
  GOMPY_BOTH T __float2##name##_ru (float a) { return gompy_round_##name (a, GOMPY_UP); } \
  GOMPY_BOTH T __double2##name (double a) { return T (a); } \
  GOMPY_BOTH T2 __float2##name##2_rn (float a) { return T2 (T (a), T (a)); } \
  GOMPY_BOTH T2 __floats2##name##2_rn (float a, float b) { return T2 (T (a), T (b)); } \
  GOMPY_BOTH T2 __float22##name##2_rn (float2 a) { return T2 (T (a.x), T (a.y)); } \
  GOMPY_BOTH float2 __##name##22float2 (T2 a) { return float2 { float (a.x), float (a.y) }; } \
  GOMPY_BOTH float __low2float (T2 a) { return float (a.x); } \
  GOMPY_BOTH float __high2float (T2 a) { return float (a.y); } \
  GOMPY_BOTH T __low2##name (T2 a) { return a.x; } \
  GOMPY_BOTH T __high2##name (T2 a) { return a.y; } \
  GOMPY_BOTH T2 __##name##2##name##2 (T a) { return T2 (a, a); } \
  GOMPY_BOTH T2 __halves2##name##2 (T a, T b) { return T2 (a, b); } \
  GOMPY_BOTH T2 make_##name##2 (T a, T b) { return T2 (a, b); } \
  GOMPY_BOTH T2 __low2##name##2 (T2 a) { return T2 (a.x, a.x); } \
  GOMPY_BOTH T2 __high2##name##2 (T2 a) { return T2 (a.y, a.y); } \
  GOMPY_BOTH T2 __lowhigh2highlow (T2 a) { return T2 (a.y, a.x); } \
  GOMPY_BOTH T2 __lows2##name##2 (T2 a, T2 b) { return T2 (a.x, b.x); } \
  GOMPY_BOTH T2 __highs2##name##2 (T2 a, T2 b) { return T2 (a.y, b.y); }

/* Of a type and its vector.  */
#define GOMPY_SHORT_FUNCTIONS(T, T2) \
  GOMPY_BOTH bool __hisnan (T a) { return float (a) != float (a); } \
  GOMPY_BOTH int __hisinf (T a) \
  { \
    return float (a) == __builtin_inff () ? 1 : float (a) == -__builtin_inff () ? -1 : 0; \
  } \
  GOMPY_BOTH T __hsub (T a, T b) { return gompy_fma (b, T (-1.f), a); } \
  GOMPY_BOTH T __hadd (T a, T b) { return gompy_add (a, b); } \
  GOMPY_BOTH T __hmul (T a, T b) { return gompy_mul (a, b); } \
  GOMPY_BOTH T __hfma (T a, T b, T c) { return gompy_fma (a, b, c); } \
  GOMPY_BOTH T __hadd_rn (T a, T b) { return __hadd (a, b); } \
  GOMPY_BOTH T __hsub_rn (T a, T b) { return __hsub (a, b); } \
  GOMPY_BOTH T __hmul_rn (T a, T b) { return __hmul (a, b); } \
  GOMPY_BOTH T __hdiv (T a, T b) { return T (float (a) / float (b)); } \
  GOMPY_BOTH T __hneg (T a) { return gompy_with_bits<T> ((unsigned short) (gompy_bits (a) ^ 0x8000)); } \
  GOMPY_BOTH T __habs (T a) { return gompy_with_bits<T> ((unsigned short) (gompy_bits (a) & 0x7fff)); } \
  GOMPY_BOTH T gompy_saturated (T a) \
  { \
    return __hisnan (a) || float (a) <= 0 ? T (0.f) : float (a) > 1 ? T (1.f) : a; \
  } \
  GOMPY_BOTH T __hadd_sat (T a, T b) { return gompy_saturated (__hadd (a, b)); } \
  GOMPY_BOTH T __hsub_sat (T a, T b) { return gompy_saturated (__hsub (a, b)); } \
  GOMPY_BOTH T __hmul_sat (T a, T b) { return gompy_saturated (__hmul (a, b)); } \
  GOMPY_BOTH T __hfma_sat (T a, T b, T c) { return gompy_saturated (__hfma (a, b, c)); } \
  GOMPY_BOTH T __hfma_relu (T a, T b, T c) \
  { \
    T r = __hfma (a, b, c); \
    return float (r) < 0 ? T (0.f) : r; \
  } \
  GOMPY_BOTH T __hmax (T a, T b) { return __hisnan (a) ? b : __hisnan (b) || float (a) > float (b) ? a : b; } \
  GOMPY_BOTH T __hmin (T a, T b) { return __hisnan (a) ? b : __hisnan (b) || float (a) < float (b) ? a : b; } \
  GOMPY_BOTH T __hmax_nan (T a, T b) \
  { \
    return __hisnan (a) || __hisnan (b) ? gompy_with_bits<T> (0x7fff) : __hmax (a, b); \
  } \
  GOMPY_BOTH T __hmin_nan (T a, T b) \
  { \
    return __hisnan (a) || __hisnan (b) ? gompy_with_bits<T> (0x7fff) : __hmin (a, b); \
  } \
  GOMPY_SHORT_COMPARE (T, T2, eq, ==) \
  GOMPY_SHORT_COMPARE (T, T2, lt, <) \
  GOMPY_SHORT_COMPARE (T, T2, le, <=) \
  GOMPY_SHORT_COMPARE (T, T2, gt, >) \
  GOMPY_SHORT_COMPARE (T, T2, ge, >=) \
  GOMPY_SHORT_COMPARE (T, T2, ne, !=) \
  GOMPY_SHORT_OPERATORS (T, T (1.f)) \
  GOMPY_SHORT_PAIR (T, T2)

/* Comparisons are false of what is no number; those whose names end in u are true.  */
#define GOMPY_SHORT_COMPARE(T, T2, name, op) \
  GOMPY_BOTH bool __h##name (T a, T b) \
  { \
    return !__hisnan (a) && !__hisnan (b) && float (a) op float (b); \
  } \
  GOMPY_BOTH bool __h##name##u (T a, T b) { return __hisnan (a) || __hisnan (b) || float (a) op float (b); } \
  GOMPY_BOTH T2 __h##name##2 (T2 a, T2 b) \
  { \
    return T2 (T (float (__h##name (a.x, b.x))), T (float (__h##name (a.y, b.y)))); \
  } \
  GOMPY_BOTH bool __hb##name##2 (T2 a, T2 b) { return __h##name (a.x, b.x) && __h##name (a.y, b.y); } \
  GOMPY_BOTH bool __hb##name##u2 (T2 a, T2 b) { return __h##name##u (a.x, b.x) && __h##name##u (a.y, b.y); }

#define GOMPY_SHORT_OPERATORS(T, ONE) \
  GOMPY_BOTH T operator+ (const T &a, const T &b) { return __hadd (a, b); } \
  GOMPY_BOTH T operator- (const T &a, const T &b) { return __hsub (a, b); } \
  GOMPY_BOTH T operator* (const T &a, const T &b) { return __hmul (a, b); } \
  GOMPY_BOTH T operator/ (const T &a, const T &b) { return __hdiv (a, b); } \
  GOMPY_BOTH T &operator+= (T &a, const T &b) { return a = a + b; } \
  GOMPY_BOTH T &operator-= (T &a, const T &b) { return a = a - b; } \
  GOMPY_BOTH T &operator*= (T &a, const T &b) { return a = a * b; } \
  GOMPY_BOTH T &operator/= (T &a, const T &b) { return a = a / b; } \
  GOMPY_BOTH T operator+ (const T &a) { return a; } \
  GOMPY_BOTH T operator- (const T &a) { return __hneg (a); } \
  GOMPY_BOTH T &operator++ (T &a) { return a += ONE; } \
  GOMPY_BOTH T &operator-- (T &a) { return a -= ONE; } \
  GOMPY_BOTH T operator++ (T &a, int) { T old = a; a += ONE; return old; } \
  GOMPY_BOTH T operator-- (T &a, int) { T old = a; a -= ONE; return old; } \
  GOMPY_BOTH bool operator== (const T &a, const T &b) { return __heq (a, b); } \
  GOMPY_BOTH bool operator!= (const T &a, const T &b) { return __hneu (a, b); } \
  GOMPY_BOTH bool operator< (const T &a, const T &b) { return __hlt (a, b); } \
  GOMPY_BOTH bool operator> (const T &a, const T &b) { return __hgt (a, b); } \
  GOMPY_BOTH bool operator<= (const T &a, const T &b) { return __hle (a, b); } \
  GOMPY_BOTH bool operator>= (const T &a, const T &b) { return __hge (a, b); }

#define GOMPY_PAIR_OF_TWO(T2, name, one) \
  GOMPY_BOTH T2 name (T2 a, T2 b) { return T2 (one (a.x, b.x), one (a.y, b.y)); }
#define GOMPY_PAIR_OF_ONE(T2, name, one) \
  GOMPY_BOTH T2 name (T2 a) { return T2 (one (a.x), one (a.y)); }

#define GOMPY_SHORT_PAIR(T, T2) \
  GOMPY_PAIR_OF_TWO (T2, __hadd2, __hadd) GOMPY_PAIR_OF_TWO (T2, __hsub2, __hsub) \
  GOMPY_PAIR_OF_TWO (T2, __hmul2, __hmul) \
  GOMPY_PAIR_OF_TWO (T2, __hadd2_rn, __hadd) GOMPY_PAIR_OF_TWO (T2, __hsub2_rn, __hsub) \
  GOMPY_PAIR_OF_TWO (T2, __hmul2_rn, __hmul) GOMPY_PAIR_OF_TWO (T2, __h2div, __hdiv) \
  GOMPY_PAIR_OF_TWO (T2, __hadd2_sat, __hadd_sat) GOMPY_PAIR_OF_TWO (T2, __hsub2_sat, __hsub_sat) \
  GOMPY_PAIR_OF_TWO (T2, __hmul2_sat, __hmul_sat) GOMPY_PAIR_OF_TWO (T2, __hmax2, __hmax) \
  GOMPY_PAIR_OF_TWO (T2, __hmin2, __hmin) GOMPY_PAIR_OF_TWO (T2, __hmax2_nan, __hmax_nan) \
  GOMPY_PAIR_OF_TWO (T2, __hmin2_nan, __hmin_nan) GOMPY_PAIR_OF_ONE (T2, __hneg2, __hneg) \
  GOMPY_PAIR_OF_ONE (T2, __habs2, __habs) \
  GOMPY_BOTH T2 __hfma2 (T2 a, T2 b, T2 c) { return T2 (__hfma (a.x, b.x, c.x), __hfma (a.y, b.y, c.y)); } \
  GOMPY_BOTH T2 __hfma2_sat (T2 a, T2 b, T2 c) { return T2 (__hfma_sat (a.x, b.x, c.x), __hfma_sat (a.y, b.y, c.y)); } \
  GOMPY_BOTH T2 __hfma2_relu (T2 a, T2 b, T2 c) \
  { \
    return T2 (__hfma_relu (a.x, b.x, c.x), __hfma_relu (a.y, b.y, c.y)); \
  } \
  GOMPY_BOTH T2 __hisnan2 (T2 a) { return T2 (T (float (__hisnan (a.x))), T (float (__hisnan (a.y)))); } \
  GOMPY_BOTH T2 operator+ (const T2 &a, const T2 &b) { return __hadd2 (a, b); } \
  GOMPY_BOTH T2 operator- (const T2 &a, const T2 &b) { return __hsub2 (a, b); } \
  GOMPY_BOTH T2 operator* (const T2 &a, const T2 &b) { return __hmul2 (a, b); } \
  GOMPY_BOTH T2 operator/ (const T2 &a, const T2 &b) { return __h2div (a, b); } \
  GOMPY_BOTH T2 &operator+= (T2 &a, const T2 &b) { return a = a + b; } \
  GOMPY_BOTH T2 &operator-= (T2 &a, const T2 &b) { return a = a - b; } \
  GOMPY_BOTH T2 &operator*= (T2 &a, const T2 &b) { return a = a * b; } \
  GOMPY_BOTH T2 &operator/= (T2 &a, const T2 &b) { return a = a / b; } \
  GOMPY_BOTH T2 operator- (const T2 &a) { return __hneg2 (a); } \
  GOMPY_BOTH bool operator== (const T2 &a, const T2 &b) { return __hbeq2 (a, b); } \
  GOMPY_BOTH bool operator!= (const T2 &a, const T2 &b) { return !__hbeq2 (a, b); }

/* Functions that are computed as floats and rounded once more.  */
#define GOMPY_SHORT_MATH(T, T2, name, expression) \
  GOMPY_BOTH T h##name (T of) { float x = float (of); return T (expression); } \
  GOMPY_BOTH T2 h2##name (T2 of) { return T2 (h##name (of.x), h##name (of.y)); }
#define GOMPY_SHORT_MATHS(T, T2) \
  GOMPY_SHORT_MATH (T, T2, sqrt, ::sqrtf (x)) GOMPY_SHORT_MATH (T, T2, rsqrt, (float) (1 / ::sqrt ((double) x))) \
  GOMPY_SHORT_MATH (T, T2, rcp, 1 / x) GOMPY_SHORT_MATH (T, T2, exp, ::expf (x)) \
  GOMPY_SHORT_MATH (T, T2, exp2, ::exp2f (x)) GOMPY_SHORT_MATH (T, T2, exp10, ::powf (10.f, x)) \
  GOMPY_SHORT_MATH (T, T2, log, ::logf (x)) GOMPY_SHORT_MATH (T, T2, log2, ::log2f (x)) \
  GOMPY_SHORT_MATH (T, T2, log10, ::log10f (x)) GOMPY_SHORT_MATH (T, T2, sin, ::sinf (x)) \
  GOMPY_SHORT_MATH (T, T2, cos, ::cosf (x)) GOMPY_SHORT_MATH (T, T2, tanh, ::tanhf (x)) \
  GOMPY_SHORT_MATH (T, T2, floor, ::floorf (x)) GOMPY_SHORT_MATH (T, T2, ceil, ::ceilf (x)) \
  GOMPY_SHORT_MATH (T, T2, trunc, ::truncf (x)) GOMPY_SHORT_MATH (T, T2, rint, ::rintf (x))

/* Conversions to and from an integer type, in each rounding: __half2int_rz, __int2half_rn.  */
#define GOMPY_SHORT_INTEGER(T, name, type, word) \
  GOMPY_SHORT_INTEGER_AS (T, name, type, word, rn, GOMPY_NEAREST) \
  GOMPY_SHORT_INTEGER_AS (T, name, type, word, rz, GOMPY_ZERO) \
  GOMPY_SHORT_INTEGER_AS (T, name, type, word, rd, GOMPY_DOWN) \
  GOMPY_SHORT_INTEGER_AS (T, name, type, word, ru, GOMPY_UP)
#define GOMPY_SHORT_INTEGER_AS(T, name, type, word, mode, how) \
  GOMPY_BOTH type __##name##2##word##_##mode (T a) { return gompy_to_integer<type> (float (a), how); } \
  GOMPY_BOTH T __##word##2##name##_##mode (type a) { return gompy_round_##name (gompy_odd_float ((double) a), how); }
#define GOMPY_SHORT_INTEGERS(T, name) \
  GOMPY_SHORT_INTEGER (T, name, int, int) GOMPY_SHORT_INTEGER (T, name, unsigned, uint) \
  GOMPY_SHORT_INTEGER (T, name, short, short) GOMPY_SHORT_INTEGER (T, name, unsigned short, ushort) \
  GOMPY_SHORT_INTEGER (T, name, long long, ll) GOMPY_SHORT_INTEGER (T, name, unsigned long long, ull) \
  GOMPY_BOTH short __##name##_as_short (T a) { return (short) gompy_bits (a); } \
  GOMPY_BOTH unsigned short __##name##_as_ushort (T a) { return gompy_bits (a); } \
  GOMPY_BOTH T __short_as_##name (short a) { return gompy_with_bits<T> ((unsigned short) a); } \
  GOMPY_BOTH T __ushort_as_##name (unsigned short a) { return gompy_with_bits<T> (a); }

#ifndef __CUDA__
#define GOMPY_SHORT_ON_DEVICE(T, T2)
#else
#define GOMPY_SHORT_DEVICE static __inline__ __attribute__ ((device, always_inline, nodebug))
/* Shuffles and loads.  */
#define GOMPY_SHORT_SHUFFLE(T, bits, name, amount) \
  GOMPY_SHORT_DEVICE T name (unsigned mask, T a, amount by, int width = 32) \
  { \
    return __builtin_bit_cast (T, (bits) name (mask, (unsigned) __builtin_bit_cast (bits, a), by, width)); \
  }
#define GOMPY_SHORT_MOVED(T, bits) \
  GOMPY_SHORT_SHUFFLE (T, bits, __shfl_sync, int) \
  GOMPY_SHORT_SHUFFLE (T, bits, __shfl_up_sync, unsigned) \
  GOMPY_SHORT_SHUFFLE (T, bits, __shfl_down_sync, unsigned) \
  GOMPY_SHORT_SHUFFLE (T, bits, __shfl_xor_sync, int) \
  GOMPY_SHORT_DEVICE T __ldg (const T *at) { return *at; }

/* By compare and swap of the aligned word that it is in: as exact as the instruction, which has the same rounding.  */
template <class T>
GOMPY_SHORT_DEVICE T
gompy_atomic_add_short (T *at, T value)
{
  unsigned long long place = (unsigned long long) at;
  unsigned *word = (unsigned *) (place & ~3ull), shift = (unsigned) (place & 2) * 8;
  unsigned old = *(volatile unsigned *) word, was;
  do
    {
      was = old;
      T sum = gompy_with_bits<T> ((unsigned short) (was >> shift)) + value;
      old = atomicCAS (word, was, (was & ~(0xffffu << shift)) | (unsigned) gompy_bits (sum) << shift);
    }
  while (old != was);
  return gompy_with_bits<T> ((unsigned short) (old >> shift));
}

#define GOMPY_SHORT_ON_DEVICE(T, T2) \
  GOMPY_SHORT_MOVED (T, unsigned short) \
  GOMPY_SHORT_MOVED (T2, unsigned) \
  GOMPY_SHORT_DEVICE T atomicAdd (T *at, T value) { return gompy_atomic_add_short (at, value); } \
  GOMPY_SHORT_DEVICE T2 atomicAdd (T2 *at, T2 value) { return gompy_atomic_add_pair (at, value); }

template <class T2>
GOMPY_SHORT_DEVICE T2
gompy_atomic_add_pair (T2 *at, T2 value)
{
  T2 old;
  old.x = gompy_atomic_add_short (&at->x, value.x);
  old.y = gompy_atomic_add_short (&at->y, value.y);
  return old;
}
#endif

#endif
