/* The part of the device library that is instructions: integers, bits, conversions, rounding, quick functions.  */
#ifndef GOMPY_LIBDEVICE_BITS_H
#define GOMPY_LIBDEVICE_BITS_H

#ifndef GOMPY_NVI
#define GOMPY_NVI extern "C" __inline__ __attribute__ ((device, always_inline, nodebug))
#endif

/* --- Integers.  --- */
GOMPY_NVI int __nv_abs (int x) { return x < 0 ? (int) (0u - (unsigned) x) : x; }
GOMPY_NVI long long __nv_llabs (long long x) { return x < 0 ? (long long) (0ull - (unsigned long long) x) : x; }
GOMPY_NVI int __nv_min (int a, int b) { return a < b ? a : b; }
GOMPY_NVI int __nv_max (int a, int b) { return a > b ? a : b; }
GOMPY_NVI unsigned __nv_umin (unsigned a, unsigned b) { return a < b ? a : b; }
GOMPY_NVI unsigned __nv_umax (unsigned a, unsigned b) { return a > b ? a : b; }
GOMPY_NVI long long __nv_llmin (long long a, long long b) { return a < b ? a : b; }
GOMPY_NVI long long __nv_llmax (long long a, long long b) { return a > b ? a : b; }
GOMPY_NVI unsigned long long __nv_ullmin (unsigned long long a, unsigned long long b) { return a < b ? a : b; }
GOMPY_NVI unsigned long long __nv_ullmax (unsigned long long a, unsigned long long b) { return a > b ? a : b; }
GOMPY_NVI int __nv_clz (int x) { return x ? __builtin_clz (x) : 32; }
GOMPY_NVI int __nv_clzll (long long x) { return x ? __builtin_clzll (x) : 64; }
GOMPY_NVI int __nv_popc (int x) { return __builtin_popcount (x); }
GOMPY_NVI int __nv_popcll (long long x) { return __builtin_popcountll (x); }
GOMPY_NVI int __nv_ffs (int x) { return __builtin_ffs (x); }
GOMPY_NVI int __nv_ffsll (long long x) { return __builtin_ffsll (x); }
GOMPY_NVI unsigned __nv_brev (unsigned x) { return __builtin_bitreverse32 (x); }
GOMPY_NVI unsigned long long __nv_brevll (unsigned long long x) { return __builtin_bitreverse64 (x); }
GOMPY_NVI int __nv_byte_perm (int a, int b, int s) { return __nvvm_prmt (a, b, s); }
GOMPY_NVI int __nv_mulhi (int a, int b) { return __nvvm_mulhi_i (a, b); }
GOMPY_NVI unsigned __nv_umulhi (unsigned a, unsigned b) { return __nvvm_mulhi_ui (a, b); }
GOMPY_NVI long long __nv_mul64hi (long long a, long long b) { return __nvvm_mulhi_ll (a, b); }
GOMPY_NVI unsigned long long
__nv_umul64hi (unsigned long long a, unsigned long long b)
{
  return __nvvm_mulhi_ull (a, b);
}
GOMPY_NVI int __nv_mul24 (int a, int b) { return __nvvm_mul24_i (a, b); }
GOMPY_NVI unsigned __nv_umul24 (unsigned a, unsigned b) { return __nvvm_mul24_ui (a, b); }
GOMPY_NVI int __nv_sad (int a, int b, int c) { return __nvvm_sad_i (a, b, c); }
GOMPY_NVI unsigned __nv_usad (unsigned a, unsigned b, unsigned c) { return __nvvm_sad_ui (a, b, c); }
GOMPY_NVI int __nv_hadd (int a, int b) { return (a & b) + ((a ^ b) >> 1); }
GOMPY_NVI unsigned __nv_uhadd (unsigned a, unsigned b) { return (a & b) + ((a ^ b) >> 1); }
GOMPY_NVI int __nv_rhadd (int a, int b) { return (a | b) - ((a ^ b) >> 1); }
GOMPY_NVI unsigned __nv_urhadd (unsigned a, unsigned b) { return (a | b) - ((a ^ b) >> 1); }

/* --- Bits.  --- */
GOMPY_NVI long long __nv_double_as_longlong (double x) { return __builtin_bit_cast (long long, x); }
GOMPY_NVI double __nv_longlong_as_double (long long x) { return __builtin_bit_cast (double, x); }
GOMPY_NVI int __nv_float_as_int (float x) { return __builtin_bit_cast (int, x); }
GOMPY_NVI unsigned __nv_float_as_uint (float x) { return __builtin_bit_cast (unsigned, x); }
GOMPY_NVI float __nv_int_as_float (int x) { return __builtin_bit_cast (float, x); }
GOMPY_NVI float __nv_uint_as_float (unsigned x) { return __builtin_bit_cast (float, x); }
GOMPY_NVI int __nv_double2hiint (double x) { return (int) (__builtin_bit_cast (long long, x) >> 32); }
GOMPY_NVI int __nv_double2loint (double x) { return (int) __builtin_bit_cast (long long, x); }
GOMPY_NVI double
__nv_hiloint2double (int hi, int lo)
{
  return __builtin_bit_cast (double, (unsigned long long) (unsigned) hi << 32 | (unsigned) lo);
}
GOMPY_NVI int __nv_signbitd (double x) { return __builtin_bit_cast (long long, x) < 0; }
GOMPY_NVI int __nv_signbitf (float x) { return __builtin_bit_cast (int, x) < 0; }
GOMPY_NVI int __nv_isnand (double x) { return x != x; }
GOMPY_NVI int __nv_isnanf (float x) { return x != x; }
GOMPY_NVI int __nv_isinfd (double x) { return __nvvm_fabs_d (x) == __builtin_inf (); }
GOMPY_NVI int __nv_isinff (float x) { return __nvvm_fabs_f (x) == __builtin_inff (); }
GOMPY_NVI int __nv_isfinited (double x) { return __nvvm_fabs_d (x) < __builtin_inf (); }
GOMPY_NVI int __nv_finitef (float x) { return __nvvm_fabs_f (x) < __builtin_inff (); }
GOMPY_NVI double __nv_copysign (double x, double s) { return __builtin_copysign (x, s); }
GOMPY_NVI float __nv_copysignf (float x, float s) { return __builtin_copysignf (x, s); }
GOMPY_NVI unsigned short
__nv_float2half_rn (float x)
{
  unsigned short r;
  __asm__ ("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
GOMPY_NVI float
__nv_half2float (unsigned short x)
{
  float r;
  __asm__ ("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}

/* --- What is one instruction.  --- */
#define GOMPY_INSTRUCTION(name, double_one, float_one) \
  GOMPY_NVI double __nv_##name (double x) { return double_one (x); } \
  GOMPY_NVI float __nv_##name##f (float x) { return float_one (x); }
GOMPY_INSTRUCTION (fabs, __nvvm_fabs_d, __nvvm_fabs_f)
GOMPY_INSTRUCTION (ceil, __nvvm_ceil_d, __nvvm_ceil_f)
GOMPY_INSTRUCTION (floor, __nvvm_floor_d, __nvvm_floor_f)
GOMPY_INSTRUCTION (trunc, __nvvm_trunc_d, __nvvm_trunc_f)
GOMPY_INSTRUCTION (rint, __builtin_rint, __builtin_rintf)
GOMPY_INSTRUCTION (nearbyint, __builtin_rint, __builtin_rintf)
GOMPY_INSTRUCTION (sqrt, __nvvm_sqrt_rn_d, __nvvm_sqrt_rn_f)
GOMPY_INSTRUCTION (rsqrt, __nvvm_rsqrt_approx_d, __nvvm_rsqrt_approx_f)
#undef GOMPY_INSTRUCTION
GOMPY_NVI double __nv_fmin (double a, double b) { return __nvvm_fmin_d (a, b); }
GOMPY_NVI float __nv_fminf (float a, float b) { return __nvvm_fmin_f (a, b); }
GOMPY_NVI double __nv_fmax (double a, double b) { return __nvvm_fmax_d (a, b); }
GOMPY_NVI float __nv_fmaxf (float a, float b) { return __nvvm_fmax_f (a, b); }
GOMPY_NVI double __nv_fma (double a, double b, double c) { return __nvvm_fma_rn_d (a, b, c); }
GOMPY_NVI float __nv_fmaf (float a, float b, float c) { return __nvvm_fma_rn_f (a, b, c); }
GOMPY_NVI float __nv_saturatef (float x) { return __nvvm_saturate_f (x); }
GOMPY_NVI float __nv_frsqrt_rn (float x) { return (float) (1 / __nvvm_sqrt_rn_d (x)); }
GOMPY_NVI double
__nv_rcp64h (double x)
{
  return __builtin_bit_cast (double, __builtin_bit_cast (long long, 1 / x) & (long long) 0xffffffff00000000ull);
}

/* --- Directed rounding: CUDA's ending, PTX's.  --- */
#define GOMPY_ROUNDED(ending, mode) \
  GOMPY_NVI double __nv_dadd_##ending (double a, double b) { return __nvvm_add_##mode##_d (a, b); } \
  GOMPY_NVI double __nv_dsub_##ending (double a, double b) { return __nvvm_add_##mode##_d (a, -b); } \
  GOMPY_NVI double __nv_dmul_##ending (double a, double b) { return __nvvm_mul_##mode##_d (a, b); } \
  GOMPY_NVI double __nv_ddiv_##ending (double a, double b) { return __nvvm_div_##mode##_d (a, b); } \
  GOMPY_NVI double __nv_drcp_##ending (double a) { return __nvvm_rcp_##mode##_d (a); } \
  GOMPY_NVI double __nv_dsqrt_##ending (double a) { return __nvvm_sqrt_##mode##_d (a); } \
  GOMPY_NVI double __nv_fma_##ending (double a, double b, double c) { return __nvvm_fma_##mode##_d (a, b, c); } \
  GOMPY_NVI float __nv_fadd_##ending (float a, float b) { return __nvvm_add_##mode##_f (a, b); } \
  GOMPY_NVI float __nv_fsub_##ending (float a, float b) { return __nvvm_add_##mode##_f (a, -b); } \
  GOMPY_NVI float __nv_fmul_##ending (float a, float b) { return __nvvm_mul_##mode##_f (a, b); } \
  GOMPY_NVI float __nv_fdiv_##ending (float a, float b) { return __nvvm_div_##mode##_f (a, b); } \
  GOMPY_NVI float __nv_frcp_##ending (float a) { return __nvvm_rcp_##mode##_f (a); } \
  GOMPY_NVI float __nv_fsqrt_##ending (float a) { return __nvvm_sqrt_##mode##_f (a); } \
  GOMPY_NVI float __nv_fmaf_##ending (float a, float b, float c) { return __nvvm_fma_##mode##_f (a, b, c); } \
  GOMPY_NVI float __nv_fmaf_ieee_##ending (float a, float b, float c) { return __nvvm_fma_##mode##_f (a, b, c); } \
  GOMPY_NVI float __nv_double2float_##ending (double a) { return __nvvm_d2f_##mode (a); } \
  GOMPY_NVI int __nv_double2int_##ending (double a) { return __nvvm_d2i_##mode (a); } \
  GOMPY_NVI unsigned __nv_double2uint_##ending (double a) { return __nvvm_d2ui_##mode (a); } \
  GOMPY_NVI long long __nv_double2ll_##ending (double a) { return __nvvm_d2ll_##mode (a); } \
  GOMPY_NVI unsigned long long __nv_double2ull_##ending (double a) { return __nvvm_d2ull_##mode (a); } \
  GOMPY_NVI int __nv_float2int_##ending (float a) { return __nvvm_f2i_##mode (a); } \
  GOMPY_NVI unsigned __nv_float2uint_##ending (float a) { return __nvvm_f2ui_##mode (a); } \
  GOMPY_NVI long long __nv_float2ll_##ending (float a) { return __nvvm_f2ll_##mode (a); } \
  GOMPY_NVI unsigned long long __nv_float2ull_##ending (float a) { return __nvvm_f2ull_##mode (a); } \
  GOMPY_NVI float __nv_int2float_##ending (int a) { return __nvvm_i2f_##mode (a); } \
  GOMPY_NVI float __nv_uint2float_##ending (unsigned a) { return __nvvm_ui2f_##mode (a); } \
  GOMPY_NVI float __nv_ll2float_##ending (long long a) { return __nvvm_ll2f_##mode (a); } \
  GOMPY_NVI float __nv_ull2float_##ending (unsigned long long a) { return __nvvm_ull2f_##mode (a); } \
  GOMPY_NVI double __nv_ll2double_##ending (long long a) { return __nvvm_ll2d_##mode (a); } \
  GOMPY_NVI double __nv_ull2double_##ending (unsigned long long a) { return __nvvm_ull2d_##mode (a); }
GOMPY_ROUNDED (rn, rn)
GOMPY_ROUNDED (rz, rz)
GOMPY_ROUNDED (rd, rm)
GOMPY_ROUNDED (ru, rp)
#undef GOMPY_ROUNDED
GOMPY_NVI double __nv_int2double_rn (int x) { return x; }
GOMPY_NVI double __nv_uint2double_rn (unsigned x) { return x; }

/* --- Quick functions.  --- */
GOMPY_NVI float __nv_fast_sinf (float x) { return __nvvm_sin_approx_f (x); }
GOMPY_NVI float __nv_fast_cosf (float x) { return __nvvm_cos_approx_f (x); }
GOMPY_NVI float __nv_fast_tanf (float x) { return __nvvm_sin_approx_f (x) / __nvvm_cos_approx_f (x); }
GOMPY_NVI void
__nv_fast_sincosf (float x, float *s, float *c)
{
  *s = __nvvm_sin_approx_f (x);
  *c = __nvvm_cos_approx_f (x);
}
GOMPY_NVI float __nv_fast_expf (float x) { return __nvvm_ex2_approx_f (x * 1.4426950408889634f); }
GOMPY_NVI float __nv_fast_exp10f (float x) { return __nvvm_ex2_approx_f (x * 3.3219280948873623f); }
GOMPY_NVI float __nv_fast_log2f (float x) { return __nvvm_lg2_approx_f (x); }
GOMPY_NVI float __nv_fast_logf (float x) { return __nvvm_lg2_approx_f (x) * 0.6931471805599453f; }
GOMPY_NVI float __nv_fast_log10f (float x) { return __nvvm_lg2_approx_f (x) * 0.30102999566398120f; }
GOMPY_NVI float __nv_fast_powf (float x, float y) { return __nvvm_ex2_approx_f (y * __nvvm_lg2_approx_f (x)); }
GOMPY_NVI float __nv_fast_fdividef (float x, float y) { return __nvvm_div_approx_f (x, y); }

#endif
