/* The functions that clang's headers expect of a device library (__clang_cuda_libdevice_declares.h has their names).

   Single precision is computed in double precision and rounded, but for what the device has as instructions.  */
#ifndef GOMPY_LIBDEVICE_H
#define GOMPY_LIBDEVICE_H

#include "gompy_math_circles.h"
#include "gompy_math_steps.h"
#include "gompy_libdevice_bits.h"

/* The linker wrapper for clang's OpenMP programs makes functions of their own of them.  */
#ifndef GOMPY_NV
#define GOMPY_NV extern "C" __inline__ __attribute__ ((device))
#endif

/* Of one argument: both precisions.  */
#define GOMPY_ONE(name) \
  GOMPY_NV double __nv_##name (double x) { return gompy_##name (x); } \
  GOMPY_NV float __nv_##name##f (float x) { return (float) gompy_##name ((double) x); }
GOMPY_ONE (acos)
GOMPY_ONE (acosh)
GOMPY_ONE (asin)
GOMPY_ONE (asinh)
GOMPY_ONE (atan)
GOMPY_ONE (atanh)
GOMPY_ONE (cbrt)
GOMPY_ONE (cos)
GOMPY_ONE (cosh)
GOMPY_ONE (cospi)
GOMPY_ONE (erf)
GOMPY_ONE (erfc)
GOMPY_ONE (erfcinv)
GOMPY_ONE (erfcx)
GOMPY_ONE (erfinv)
GOMPY_ONE (exp)
GOMPY_ONE (exp10)
GOMPY_ONE (exp2)
GOMPY_ONE (expm1)
GOMPY_ONE (lgamma)
GOMPY_ONE (log)
GOMPY_ONE (log10)
GOMPY_ONE (log1p)
GOMPY_ONE (log2)
GOMPY_ONE (logb)
GOMPY_ONE (normcdf)
GOMPY_ONE (normcdfinv)
GOMPY_ONE (rcbrt)
GOMPY_ONE (round)
GOMPY_ONE (sin)
GOMPY_ONE (sinh)
GOMPY_ONE (sinpi)
GOMPY_ONE (tan)
GOMPY_ONE (tanh)
GOMPY_ONE (tgamma)
#undef GOMPY_ONE

/* Of two.  */
#define GOMPY_TWO(name) \
  GOMPY_NV double __nv_##name (double x, double y) { return gompy_##name (x, y); } \
  GOMPY_NV float __nv_##name##f (float x, float y) { return (float) gompy_##name ((double) x, (double) y); }
GOMPY_TWO (atan2)
GOMPY_TWO (fmod)
GOMPY_TWO (pow)
GOMPY_TWO (remainder)
#undef GOMPY_TWO

GOMPY_NV double __nv_hypot (double x, double y) { return gompy_norm (x, y, 0, 0); }
GOMPY_NV float __nv_hypotf (float x, float y) { return (float) gompy_norm (x, y, 0, 0); }
GOMPY_NV double __nv_rhypot (double x, double y) { return 1 / gompy_norm (x, y, 0, 0); }
GOMPY_NV float __nv_rhypotf (float x, float y) { return (float) (1 / gompy_norm (x, y, 0, 0)); }
GOMPY_NV double __nv_norm3d (double a, double b, double c) { return gompy_norm (a, b, c, 0); }
GOMPY_NV float __nv_norm3df (float a, float b, float c) { return (float) gompy_norm (a, b, c, 0); }
GOMPY_NV double __nv_rnorm3d (double a, double b, double c) { return 1 / gompy_norm (a, b, c, 0); }
GOMPY_NV float __nv_rnorm3df (float a, float b, float c) { return (float) (1 / gompy_norm (a, b, c, 0)); }
GOMPY_NV double __nv_norm4d (double a, double b, double c, double d) { return gompy_norm (a, b, c, d); }
GOMPY_NV float __nv_norm4df (float a, float b, float c, float d) { return (float) gompy_norm (a, b, c, d); }
GOMPY_NV double __nv_rnorm4d (double a, double b, double c, double d) { return 1 / gompy_norm (a, b, c, d); }
GOMPY_NV float __nv_rnorm4df (float a, float b, float c, float d) { return (float) (1 / gompy_norm (a, b, c, d)); }

GOMPY_NV double
__nv_norm (int n, const double *a)
{
  double r = 0;
  for (int i = 0; i < n; i++)
    r = gompy_norm (r, a[i], 0, 0);
  return r;
}

GOMPY_NV float
__nv_normf (int n, const float *a)
{
  double r = 0;
  for (int i = 0; i < n; i++)
    r = gompy_norm (r, a[i], 0, 0);
  return (float) r;
}

GOMPY_NV double __nv_rnorm (int n, const double *a) { return 1 / __nv_norm (n, a); }
GOMPY_NV float __nv_rnormf (int n, const float *a) { return 1 / __nv_normf (n, a); }

GOMPY_NV double __nv_powi (double x, int n) { return gompy_powi (x, n); }
GOMPY_NV float __nv_powif (float x, int n) { return (float) gompy_powi (x, n); }
GOMPY_NV void __nv_sincos (double x, double *s, double *c) { gompy_sincos (x, s, c); }
GOMPY_NV void __nv_sincospi (double x, double *s, double *c) { gompy_sincospi (x, s, c); }
GOMPY_NV void
__nv_sincosf (float x, float *s, float *c)
{
  double a, b;
  gompy_sincos (x, &a, &b);
  *s = (float) a, *c = (float) b;
}
GOMPY_NV void
__nv_sincospif (float x, float *s, float *c)
{
  double a, b;
  gompy_sincospi (x, &a, &b);
  *s = (float) a, *c = (float) b;
}

GOMPY_NV double __nv_frexp (double x, int *e) { return gompy_frexp (x, e); }
GOMPY_NV float __nv_frexpf (float x, int *e) { return (float) gompy_frexp (x, e); }
GOMPY_NV double __nv_ldexp (double x, int e) { return gompy_scale (x, e); }
GOMPY_NV float __nv_ldexpf (float x, int e) { return (float) gompy_scale (x, e); }
GOMPY_NV double __nv_scalbn (double x, int e) { return gompy_scale (x, e); }
GOMPY_NV float __nv_scalbnf (float x, int e) { return (float) gompy_scale (x, e); }
GOMPY_NV int __nv_ilogb (double x) { return gompy_ilogb (x); }
GOMPY_NV int __nv_ilogbf (float x) { return gompy_ilogb (x); }
GOMPY_NV double __nv_modf (double x, double *whole) { return gompy_modf (x, whole); }
GOMPY_NV float
__nv_modff (float x, float *whole)
{
  double w, r = gompy_modf (x, &w);
  *whole = (float) w;
  return (float) r;
}
GOMPY_NV double __nv_remquo (double x, double y, int *q) { return gompy_remquo (x, y, q); }
GOMPY_NV float __nv_remquof (float x, float y, int *q) { return (float) gompy_remquo (x, y, q); }
GOMPY_NV double __nv_nextafter (double x, double y) { return gompy_nextafter (x, y); }
GOMPY_NV float
__nv_nextafterf (float x, float y)
{
  if (x != x || y != y)
    return x + y;
  if (x == y)
    return y;
  int bits = __builtin_bit_cast (int, x);
  if (x == 0)
    return __builtin_bit_cast (float, y > 0 ? 1 : (int) 0x80000001u);
  return __builtin_bit_cast (float, bits + ((x < y) == (x > 0) ? 1 : -1));
}
GOMPY_NV double __nv_fdim (double x, double y) { return x <= y ? 0 : x - y; }
GOMPY_NV float __nv_fdimf (float x, float y) { return x <= y ? 0 : x - y; }
GOMPY_NV double __nv_nan (const signed char *) { return GOMPY_NAN; }
GOMPY_NV float __nv_nanf (const signed char *) { return __builtin_nanf (""); }
GOMPY_NV long long __nv_llrint (double x) { return __nvvm_d2ll_rn (x); }
GOMPY_NV long long __nv_llrintf (float x) { return __nvvm_f2ll_rn (x); }
GOMPY_NV long long __nv_llround (double x) { return __nvvm_d2ll_rz (gompy_round (x)); }
GOMPY_NV long long __nv_llroundf (float x) { return __nvvm_d2ll_rz (gompy_round (x)); }

/* Not implemented: a kernel that calls one is not compiled.  */
#define GOMPY_LACKS(name, type, parameters) \
  extern "C" __attribute__ ((device, error (#name ": not implemented by gompy"))) type __nv_##name parameters;
GOMPY_LACKS (cyl_bessel_i0, double, (double))
GOMPY_LACKS (cyl_bessel_i0f, float, (float))
GOMPY_LACKS (cyl_bessel_i1, double, (double))
GOMPY_LACKS (cyl_bessel_i1f, float, (float))
GOMPY_LACKS (j0, double, (double))
GOMPY_LACKS (j0f, float, (float))
GOMPY_LACKS (j1, double, (double))
GOMPY_LACKS (j1f, float, (float))
GOMPY_LACKS (jn, double, (int, double))
GOMPY_LACKS (jnf, float, (int, float))
GOMPY_LACKS (y0, double, (double))
GOMPY_LACKS (y0f, float, (float))
GOMPY_LACKS (y1, double, (double))
GOMPY_LACKS (y1f, float, (float))
GOMPY_LACKS (yn, double, (int, double))
GOMPY_LACKS (ynf, float, (int, float))
#undef GOMPY_LACKS

#endif
