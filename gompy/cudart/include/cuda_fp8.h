/* Floats of 8 bits (CUDA Math API, "FP8 Intrinsics"): E4M3 without infinities, and E5M2.  Conversions round once, to
   the nearest, on host and device alike.  */
#ifndef GOMPY_CUDA_FP8_H
#define GOMPY_CUDA_FP8_H

#include "cuda_bf16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

GOMPY_BOTH __nv_fp8_storage_t
__nv_cvt_double_to_fp8 (double from, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind)
{
  const int digits = kind == __NV_E4M3 ? 3 : 2, least = kind == __NV_E4M3 ? -6 : -14;
  const unsigned largest = kind == __NV_E4M3 ? 0x7e : 0x7b;
  unsigned long long bits = __builtin_bit_cast (unsigned long long, from), size = bits << 1 >> 1;
  unsigned sign = (unsigned) (bits >> 63) << 7, code = largest + 1;
  if (size > 0x7ff0000000000000ull)
    return 0x7f;
  int exponent = (int) (size >> 52) - 1023;
  if (exponent < 16)
    {
      exponent = exponent < least ? least : exponent;
      double unit = __builtin_bit_cast (double, (unsigned long long) (1023 - exponent + digits) << 52);
      code = (unsigned) __builtin_rint (__builtin_bit_cast (double, size) * unit);
      code += (unsigned) (exponent - least) << digits;
    }
  if (code > largest)
    code = saturate == __NV_SATFINITE ? largest : kind == __NV_E4M3 ? 0x7f : 0x7c;
  return (__nv_fp8_storage_t) (code | sign);
}

GOMPY_BOTH float
gompy_fp8_float (__nv_fp8_storage_t from, __nv_fp8_interpretation_t kind)
{
  const int digits = kind == __NV_E4M3 ? 3 : 2, least = kind == __NV_E4M3 ? -6 : -14;
  unsigned code = from & 0x7f, field = code >> digits, rest = code & ((1u << digits) - 1);
  unsigned sign = (unsigned) from >> 7 << 31;
  if (code == 0x7f || (kind == __NV_E5M2 && code > 0x7c))
    return __builtin_bit_cast (float, 0x7fffffffu);
  if (kind == __NV_E5M2 && code == 0x7c)
    return __builtin_bit_cast (float, 0x7f800000u | sign);
  int exponent = (field ? (int) field - 1 : 0) + least - digits;
  float size = (float) (rest + (field ? 1u << digits : 0));
  size *= __builtin_bit_cast (float, (unsigned) (127 + exponent) << 23);
  return __builtin_bit_cast (float, __builtin_bit_cast (unsigned, size) | sign);
}

GOMPY_BOTH __nv_fp8_storage_t
__nv_cvt_float_to_fp8 (float from, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind)
{
  return __nv_cvt_double_to_fp8 (from, saturate, kind);
}

GOMPY_BOTH __nv_fp8x2_storage_t
__nv_cvt_double2_to_fp8x2 (double2 from, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind)
{
  unsigned high = __nv_cvt_double_to_fp8 (from.y, saturate, kind);
  return (__nv_fp8x2_storage_t) (__nv_cvt_double_to_fp8 (from.x, saturate, kind) | high << 8);
}

GOMPY_BOTH __nv_fp8x2_storage_t
__nv_cvt_float2_to_fp8x2 (float2 from, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind)
{
  return __nv_cvt_double2_to_fp8x2 (make_double2 (from.x, from.y), saturate, kind);
}

#define GOMPY_FP8_SHORT(type, pair, name) \
  GOMPY_BOTH __nv_fp8_storage_t __nv_cvt_##name##raw_to_fp8 (type##_raw from, __nv_saturation_t saturate, \
                                                             __nv_fp8_interpretation_t kind) \
  { \
    return __nv_cvt_double_to_fp8 ((float) type (from), saturate, kind); \
  } \
  GOMPY_BOTH __nv_fp8x2_storage_t __nv_cvt_##name##raw2_to_fp8x2 (pair##_raw from, __nv_saturation_t saturate, \
                                                                  __nv_fp8_interpretation_t kind) \
  { \
    pair both = from; \
    return __nv_cvt_double2_to_fp8x2 (make_double2 ((float) both.x, (float) both.y), saturate, kind); \
  }
GOMPY_FP8_SHORT (__half, __half2, half)
GOMPY_FP8_SHORT (__nv_bfloat16, __nv_bfloat162, bfloat16)
#undef GOMPY_FP8_SHORT

GOMPY_BOTH __half_raw
__nv_cvt_fp8_to_halfraw (__nv_fp8_storage_t from, __nv_fp8_interpretation_t kind)
{
  return __half (gompy_fp8_float (from, kind));
}

GOMPY_BOTH __half2_raw
__nv_cvt_fp8x2_to_halfraw2 (__nv_fp8x2_storage_t from, __nv_fp8_interpretation_t kind)
{
  __half2 to;
  to.x = __nv_cvt_fp8_to_halfraw ((__nv_fp8_storage_t) from, kind);
  to.y = __nv_cvt_fp8_to_halfraw ((__nv_fp8_storage_t) (from >> 8), kind);
  return to;
}

#define GOMPY_FP8_FROM(T, kind, type, saturate) \
  GOMPY_MEMBER explicit T (type from) : __x (__nv_cvt_double_to_fp8 ((double) (from), saturate, kind)) {}
#define GOMPY_FP8_TO(kind, type) \
  GOMPY_MEMBER explicit operator type () const { return (type) gompy_fp8_float (__x, kind); }

/* One, two and four of them.  Constructors saturate; whole numbers are rounded from double, which has them exactly.  */
#define GOMPY_FP8(T, kind) \
  struct T \
  { \
    __nv_fp8_storage_t __x; \
    T () = default; \
    GOMPY_FP8_FROM (T, kind, float, __NV_SATFINITE) \
    GOMPY_FP8_FROM (T, kind, double, __NV_SATFINITE) \
    GOMPY_FP8_FROM (T, kind, int, __NV_SATFINITE) \
    GOMPY_FP8_FROM (T, kind, unsigned, __NV_SATFINITE) \
    GOMPY_FP8_FROM (T, kind, long, __NV_SATFINITE) \
    GOMPY_FP8_FROM (T, kind, unsigned long, __NV_SATFINITE) \
    GOMPY_MEMBER explicit T (__half from) : __x (__nv_cvt_halfraw_to_fp8 (from, __NV_SATFINITE, kind)) {} \
    GOMPY_MEMBER explicit T (__nv_bfloat16 from) : __x (__nv_cvt_bfloat16raw_to_fp8 (from, __NV_SATFINITE, kind)) {} \
    GOMPY_FP8_TO (kind, float) \
    GOMPY_FP8_TO (kind, double) \
    GOMPY_FP8_TO (kind, int) \
    GOMPY_FP8_TO (kind, unsigned) \
    GOMPY_MEMBER explicit operator __half () const { return __nv_cvt_fp8_to_halfraw (__x, kind); } \
    GOMPY_MEMBER explicit operator __nv_bfloat16 () const { return __nv_bfloat16 (gompy_fp8_float (__x, kind)); } \
    GOMPY_MEMBER explicit operator bool () const { return (__x & 0x7f) != 0; } \
  };
#define GOMPY_FP8_PAIR(T, kind) \
  struct T \
  { \
    __nv_fp8x2_storage_t __x; \
    T () = default; \
    GOMPY_MEMBER explicit T (float2 from) : __x (__nv_cvt_float2_to_fp8x2 (from, __NV_SATFINITE, kind)) {} \
    GOMPY_MEMBER explicit T (double2 from) : __x (__nv_cvt_double2_to_fp8x2 (from, __NV_SATFINITE, kind)) {} \
    GOMPY_MEMBER explicit T (__half2 from) : __x (__nv_cvt_halfraw2_to_fp8x2 (from, __NV_SATFINITE, kind)) {} \
    GOMPY_MEMBER explicit T (__nv_bfloat162 from) : __x (__nv_cvt_bfloat16raw2_to_fp8x2 (from, __NV_SATFINITE, kind)) \
    { \
    } \
    GOMPY_MEMBER explicit operator float2 () const \
    { \
      return make_float2 (gompy_fp8_float ((__nv_fp8_storage_t) __x, kind), \
                          gompy_fp8_float ((__nv_fp8_storage_t) (__x >> 8), kind)); \
    } \
    GOMPY_MEMBER explicit operator __half2 () const { return __nv_cvt_fp8x2_to_halfraw2 (__x, kind); } \
  };
#define GOMPY_FP8_QUAD(T, pair, kind) \
  struct T \
  { \
    __nv_fp8x4_storage_t __x; \
    T () = default; \
    GOMPY_MEMBER explicit T (float4 from) \
        : __x (pair (make_float2 (from.x, from.y)).__x | (unsigned) pair (make_float2 (from.z, from.w)).__x << 16) \
    { \
    } \
    GOMPY_MEMBER explicit T (double4 from) \
        : __x (pair (make_double2 (from.x, from.y)).__x | (unsigned) pair (make_double2 (from.z, from.w)).__x << 16) \
    { \
    } \
    GOMPY_MEMBER T (__half2 low, __half2 high) : __x (pair (low).__x | (unsigned) pair (high).__x << 16) {} \
    GOMPY_MEMBER explicit operator float4 () const \
    { \
      return make_float4 (gompy_fp8_float ((__nv_fp8_storage_t) __x, kind), \
                          gompy_fp8_float ((__nv_fp8_storage_t) (__x >> 8), kind), \
                          gompy_fp8_float ((__nv_fp8_storage_t) (__x >> 16), kind), \
                          gompy_fp8_float ((__nv_fp8_storage_t) (__x >> 24), kind)); \
    } \
  };
GOMPY_FP8 (__nv_fp8_e4m3, __NV_E4M3)
GOMPY_FP8 (__nv_fp8_e5m2, __NV_E5M2)
GOMPY_FP8_PAIR (__nv_fp8x2_e4m3, __NV_E4M3)
GOMPY_FP8_PAIR (__nv_fp8x2_e5m2, __NV_E5M2)
GOMPY_FP8_QUAD (__nv_fp8x4_e4m3, __nv_fp8x2_e4m3, __NV_E4M3)
GOMPY_FP8_QUAD (__nv_fp8x4_e5m2, __nv_fp8x2_e5m2, __NV_E5M2)
#undef GOMPY_FP8
#undef GOMPY_FP8_PAIR
#undef GOMPY_FP8_QUAD
#undef GOMPY_FP8_FROM
#undef GOMPY_FP8_TO

#endif
