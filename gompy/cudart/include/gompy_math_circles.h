/* Circular and hyperbolic functions of the device, and those of probability: as gompy_math_double.h.  */
#ifndef GOMPY_MATH_CIRCLES_H
#define GOMPY_MATH_CIRCLES_H

#include "gompy_math_double.h"

/* x = n pi/2 + y, |y| up to pi/4; n modulo 4.  Any finite x of 2^20 and more: by those bits of 2/pi that matter.  */
GOMPY_MATH int
gompy_reduce_large (double x, gompy_pair *y)
{
  const unsigned long long table[21] = { /* 2/pi behind 64 bits before its point */
    0ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
    0xf0cfbc209af4361dull,
  };
  int e;
  double m = gompy_abs (gompy_split (x, &e));
  unsigned long long whole = (gompy_bits (m) & 0xfffffffffffffll) | 0x10000000000000ll; /* |x| = whole * 2^(e - 52) */
  int skip = e - 52 - 2 + 64; /* the bits before give multiples of 4 */
  int at = skip >> 6, shift = skip & 63;
  unsigned long long w[3];
  for (int i = 0; i < 3; i++)
    w[i] = table[at + i] << shift | (shift ? table[at + i + 1] >> (64 - shift) : 0);
  /* |x| 2/pi modulo 4, with 190 bits behind the point.  */
  unsigned long long p2 = whole * w[2], carry = __nvvm_mulhi_ull (whole, w[2]);
  unsigned long long p1 = whole * w[1] + carry;
  carry = __nvvm_mulhi_ull (whole, w[1]) + (p1 < carry);
  unsigned long long p0 = whole * w[0] + carry;
  int n = (int) (p0 >> 62);
  unsigned long long f0 = p0 << 2 | p1 >> 62, f1 = p1 << 2 | p2 >> 62;
  double sign = 1;
  if (f0 >> 63)
    n++, sign = -1, f1 = ~f1 + 1, f0 = ~f0 + (f1 == 0);
  int zeros = f0 ? __builtin_clzll (f0) : 63;
  if (zeros)
    f0 = f0 << zeros | f1 >> (64 - zeros);
  double unit = gompy_power_of_2 (-64 - zeros);
  gompy_pair part = { (double) (f0 >> 11) * (2048 * unit), (double) (f0 & 2047) * unit };
  gompy_pair quarter = { 1.5707963267948966, 6.123233995736766e-17 };
  *y = gompy_product (part, quarter);
  if (gompy_is_negative (x))
    n = -n, sign = -sign;
  y->hi *= sign, y->lo *= sign;
  return n & 3;
}

GOMPY_MATH int
gompy_reduce_circle (double x, gompy_pair *y)
{
  if (gompy_abs (x) >= 0x1p20)
    return gompy_reduce_large (x, y);
  double k = gompy_nearest (x * 0.6366197723675814);
  double r = GOMPY_FMA (-k, 1.5707963267341256, x); /* exact: 33 bits by 20 */
  double s = GOMPY_FMA (-k, 6.077100506303966e-11, r);
  double lost = GOMPY_FMA (-k, 6.077100506303966e-11, r - s);
  *y = gompy_sum (s, GOMPY_FMA (-k, 2.0222662487959506e-21, lost));
  return (int) k & 3;
}

GOMPY_MATH double
gompy_sin_reduced (gompy_pair y)
{
  double z = y.hi * y.hi, p = z * gompy_poly_sin (z);
  return y.hi + GOMPY_FMA (y.hi, p, GOMPY_FMA (-0.5 * z, y.lo, y.lo));
}

GOMPY_MATH double
gompy_cos_reduced (gompy_pair y)
{
  double z = y.hi * y.hi, half = 0.5 * z, w = 1 - half;
  return w + (((1 - w) - half) + GOMPY_FMA (z * z, gompy_poly_cos (z), -y.hi * y.lo));
}

GOMPY_MATH void
gompy_sincos (double x, double *sine, double *cosine)
{
  if (!gompy_is_finite (x))
    {
      *sine = *cosine = GOMPY_NAN;
      return;
    }
  gompy_pair y;
  int n = gompy_reduce_circle (x, &y);
  double s = x == 0 ? x : gompy_sin_reduced (y), c = gompy_cos_reduced (y);
  double one = n & 1 ? c : s, two = n & 1 ? s : c;
  *sine = n & 2 ? -one : one;
  *cosine = (n + 1) & 2 ? -two : two;
}

GOMPY_MATH double
gompy_sin (double x)
{
  double s, c;
  gompy_sincos (x, &s, &c);
  return s;
}

GOMPY_MATH double
gompy_cos (double x)
{
  double s, c;
  gompy_sincos (x, &s, &c);
  return c;
}

GOMPY_MATH double
gompy_tan (double x)
{
  double s, c;
  gompy_sincos (x, &s, &c);
  return s / c;
}

/* sin and cos of pi x.  */
GOMPY_MATH void
gompy_sincospi (double x, double *sine, double *cosine)
{
  if (!gompy_is_finite (x))
    {
      *sine = *cosine = GOMPY_NAN;
      return;
    }
  double k = gompy_nearest (2 * x), f = GOMPY_FMA (-0.5, k, x);
  if (gompy_abs (x) >= 0x1p53)
    k = 0, f = 0;
  gompy_pair y;
  y.hi = f * GOMPY_PI;
  y.lo = GOMPY_FMA (f, GOMPY_PI, -y.hi) + f * GOMPY_PI_LO;
  int n = (int) ((long long) k & 3);
  double s = gompy_sin_reduced (y), c = gompy_cos_reduced (y);
  double one = n & 1 ? c : s, two = n & 1 ? s : c;
  *sine = f == 0 && !(n & 1) ? gompy_with_sign (0, x) : n & 2 ? -one : one;
  *cosine = f == 0 && n & 1 ? 0 : (n + 1) & 2 ? -two : two;
}

/* Angle of the slope a / b, 0 <= a, b; with the rest of the division.  */
GOMPY_MATH double
gompy_angle (double a, double b)
{
  bool swapped = a > b;
  double high = swapped ? a : b, low = swapped ? b : a;
  double t = low / high, base = 0, base_lo = 0;
  double lost = GOMPY_FMA (-t, high, low) / high;
  if (t > 0.41421356237309503)
    {
      double up = t - 1, down = t + 1;
      double q = up / down;
      lost = (GOMPY_FMA (-q, down, up) + lost * (1 - q)) / down;
      t = q;
      base = 0.7853981633974483, base_lo = 3.061616997868383e-17;
    }
  double z = t * t, small = GOMPY_FMA (t, z * gompy_poly_atan (z), lost / (1 + z));
  if (!swapped)
    return base + (t + (small + base_lo));
  return (1.5707963267948966 - base) - (t + (small - (6.123233995736766e-17 - base_lo)));
}

GOMPY_MATH double
gompy_atan (double x)
{
  if (gompy_is_nan (x))
    return x;
  if (gompy_abs (x) > 0x1p60)
    return gompy_with_sign (1.5707963267948966, x);
  return gompy_abs (x) < 0x1p-28 ? x : gompy_with_sign (gompy_angle (gompy_abs (x), 1), x);
}

GOMPY_MATH double
gompy_atan2 (double y, double x)
{
  if (gompy_is_nan (x) || gompy_is_nan (y))
    return x + y;
  double a = gompy_abs (y), b = gompy_abs (x), r;
  if (gompy_is_inf (a) && gompy_is_inf (b))
    r = 0.7853981633974483;
  else if (a == 0 || gompy_is_inf (b))
    r = 0;
  else if (b == 0 || gompy_is_inf (a))
    r = 1.5707963267948966;
  else
    {
      int e, f;
      gompy_split (a, &e);
      gompy_split (b, &f);
      if (e - f > 60)
        r = 1.5707963267948966;
      else if (f - e > 1000)
        r = gompy_is_negative (x) ? 0 : a / b;
      else
        r = gompy_angle (gompy_scale (a, -f), gompy_scale (b, -f));
    }
  if (gompy_is_negative (x))
    r = GOMPY_PI - (r - GOMPY_PI_LO);
  return gompy_with_sign (r, y);
}

GOMPY_MATH double
gompy_asin (double x)
{
  double a = gompy_abs (x);
  if (!(a <= 1))
    return GOMPY_NAN;
  if (a <= 0.5)
    return a < 0x1p-28 ? x : GOMPY_FMA (x, x * x * gompy_poly_asin (x * x), x);
  double z = 0.5 * (1 - a), s = __nvvm_sqrt_rn_d (z);
  double lost = GOMPY_FMA (-s, s, z) / (s + s + 0x1p-1000);
  double rest = GOMPY_FMA (s, z * gompy_poly_asin (z), lost);
  return gompy_with_sign (1.5707963267948966 - (2 * s + (2 * rest - 6.123233995736766e-17)), x);
}

GOMPY_MATH double
gompy_acos (double x)
{
  double a = gompy_abs (x);
  if (!(a <= 1))
    return GOMPY_NAN;
  if (a <= 0.5)
    {
      double rest = x * (x * x * gompy_poly_asin (x * x));
      return 1.5707963267948966 - (x + (rest - 6.123233995736766e-17));
    }
  double z = 0.5 * (1 - a), s = __nvvm_sqrt_rn_d (z);
  double lost = GOMPY_FMA (-s, s, z) / (s + s + 0x1p-1000);
  double rest = GOMPY_FMA (s, z * gompy_poly_asin (z), lost);
  return x > 0 ? 2 * (s + rest) : GOMPY_PI - (2 * s + (2 * rest - GOMPY_PI_LO));
}

/* --- Hyperbolic functions.  --- */

GOMPY_MATH double
gompy_sinh (double x)
{
  double a = gompy_abs (x), r;
  if (a < 22)
    {
      double t = gompy_expm1 (a);
      r = a < 0x1p-28 ? a : 0.5 * (t < 1 ? 2 * t - t * t / (t + 1) : t + t / (t + 1));
    }
  else
    {
      double half = gompy_exp_pair (a - 0.6931471805599453, -2.3190468138462996e-17);
      r = half;
    }
  return gompy_is_nan (x) ? x : gompy_with_sign (r, x);
}

GOMPY_MATH double
gompy_cosh (double x)
{
  double a = gompy_abs (x);
  if (a > 22 || gompy_is_nan (a))
    return gompy_exp_pair (a - 0.6931471805599453, -2.3190468138462996e-17);
  double t = gompy_exp (a);
  return 0.5 * t + 0.5 / t;
}

GOMPY_MATH double
gompy_tanh (double x)
{
  double a = gompy_abs (x);
  if (gompy_is_nan (x) || a < 0x1p-28)
    return x;
  double t = a > 20 ? 0 : gompy_expm1 (a < 0.55 ? -2 * a : 2 * a);
  double r = a > 20 ? 1 : a < 0.55 ? -t / (t + 2) : 1 - 2 / (t + 2);
  return gompy_with_sign (r, x);
}

GOMPY_MATH double
gompy_asinh (double x)
{
  double a = gompy_abs (x), r;
  if (!gompy_is_finite (x) || a < 0x1p-28)
    return x;
  if (a > 0x1p28)
    r = gompy_log (a) + 0.6931471805599453;
  else
    r = gompy_log1p (a + a * a / (1 + __nvvm_sqrt_rn_d (GOMPY_FMA (a, a, 1))));
  return gompy_with_sign (r, x);
}

GOMPY_MATH double
gompy_acosh (double x)
{
  if (!(x >= 1))
    return GOMPY_NAN;
  if (x > 0x1p28)
    return gompy_log (x) + 0.6931471805599453;
  double t = x - 1;
  return gompy_log1p (t + __nvvm_sqrt_rn_d (GOMPY_FMA (t, t, 2 * t)));
}

GOMPY_MATH double
gompy_atanh (double x)
{
  double a = gompy_abs (x);
  if (!(a <= 1))
    return GOMPY_NAN;
  if (a < 0x1p-28)
    return x;
  return gompy_with_sign (0.5 * gompy_log1p (a < 0.5 ? 2 * a + 2 * a * a / (1 - a) : 2 * a / (1 - a)), x);
}

/* --- Probability.  --- */

/* exp (-x * x), with the square's rest.  */
GOMPY_MATH double
gompy_exp_square (double x)
{
  double s = x * x;
  return gompy_exp_pair (-s, -GOMPY_FMA (x, x, -s));
}

GOMPY_MATH double gompy_erfcx_large (double x) { return gompy_poly_erfc ((x - 4) / (x + 4)) / GOMPY_FMA (2, x, 1); }

GOMPY_MATH double
gompy_erfc (double x)
{
  double a = gompy_abs (x);
  if (gompy_is_nan (x))
    return x;
  if (a < 1)
    return x < 0.25 ? 1 - x * gompy_poly_erf (x * x) : 0.5 - GOMPY_FMA (x, gompy_poly_erf (x * x), -0.5);
  double r = a > 27.3 ? 0 : gompy_exp_square (a) * gompy_erfcx_large (a);
  return x > 0 ? r : 2 - r;
}

GOMPY_MATH double
gompy_erf (double x)
{
  double a = gompy_abs (x);
  if (a < 1)
    return x * gompy_poly_erf (x * x);
  if (gompy_is_nan (x))
    return x;
  return gompy_with_sign (a > 6 ? 1 : 1 - gompy_exp_square (a) * gompy_erfcx_large (a), x);
}

GOMPY_MATH double
gompy_erfcx (double x)
{
  if (x > 27)
    return 0.5641895835477563 / x * (1 - 0.5 / (x * x) * (1 - 1.5 / (x * x) * (1 - 2.5 / (x * x))));
  if (x >= 1)
    return gompy_erfcx_large (x);
  double s = x * x;
  return x < -27 ? GOMPY_INF : gompy_exp_pair (s, GOMPY_FMA (x, x, -s)) * gompy_erfc (x);
}

/* x with erfc (x) = y: a rough start, then steps by erfc's derivatives.  */
GOMPY_MATH double
gompy_erfcinv (double y)
{
  if (!(y >= 0 && y <= 2))
    return GOMPY_NAN;
  if (y == 0 || y == 2)
    return y == 0 ? GOMPY_INF : -GOMPY_INF;
  double p = y < 1 ? y : 2 - y, t = __nvvm_sqrt_rn_d (-2 * gompy_log (0.5 * p));
  double x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
  for (int i = 0; i < 3; i++)
    {
      double off = (gompy_erfc (x) - p) / (1.1283791670955126 * gompy_exp_square (x));
      x += off / (1 - x * off);
    }
  return y < 1 ? x : -x;
}

GOMPY_MATH double
gompy_erfinv (double y)
{
  if (gompy_abs (y) > 0.5)
    return y > 0 ? gompy_erfcinv (1 - y) : -gompy_erfcinv (1 + y);
  double x = y * 0.8862269254527580;
  for (int i = 0; i < 4; i++)
    {
      double off = (gompy_erf (x) - y) / (1.1283791670955126 * gompy_exp_square (x));
      x -= off / (1 + x * off);
    }
  return gompy_is_nan (y) ? y : x;
}

/* gamma (x) for x >= 1, and from 8 on log (gamma (x)).  */
GOMPY_MATH double
gompy_stirling (double x)
{
  double r = 1 / x, z = r * r;
  double p = GOMPY_FMA (z, 0.006410256410256410, -0.001917526917526918);
  p = GOMPY_FMA (z, p, 0.0008417508417508417);
  p = GOMPY_FMA (z, p, -0.0005952380952380953);
  p = GOMPY_FMA (z, p, 0.0007936507936507937);
  p = GOMPY_FMA (z, p, -0.002777777777777778);
  return r * GOMPY_FMA (z, p, 0.08333333333333333);
}

GOMPY_MATH double
gompy_tgamma_positive (double x)
{
  if (x > 171.7)
    return GOMPY_INF;
  if (x >= 20)
    {
      double half = gompy_pow (x, 0.5 * x - 0.25);
      return 2.5066282746310002 * half * gompy_exp (gompy_stirling (x) - x) * half;
    }
  double f = 1;
  while (x > 2)
    x -= 1, f *= x;
  return f * gompy_poly_gamma (x - 1.5);
}

GOMPY_MATH double
gompy_tgamma (double x)
{
  if (x >= 1 || gompy_is_nan (x))
    return gompy_is_nan (x) ? x : gompy_tgamma_positive (x);
  if (x == 0)
    return gompy_with_sign (GOMPY_INF, x);
  if (gompy_integer_kind (x))
    return GOMPY_NAN;
  if (x > 0)
    return gompy_tgamma_positive (x + 1) / x;
  if (x < -184)
    return gompy_integer_kind (__builtin_floor (x)) == 1 ? -0.0 : 0.0;
  double s, c;
  gompy_sincospi (x, &s, &c);
  if (x > -170)
    return GOMPY_PI / (s * gompy_tgamma_positive (1 - x));
  return GOMPY_PI / (s * -x) / gompy_tgamma_positive (-x - 1) / (-x - 1);
}

GOMPY_MATH double
gompy_lgamma_positive (double x)
{
  if (x >= 8)
    return x > 1e17 ? x * (gompy_log (x) - 1)
                    : GOMPY_FMA (x - 0.5, gompy_log (x) - 1, 0.4189385332046727 + gompy_stirling (x));
  double f = 1;
  if (x < 0.7)
    f = 1 / x, x += 1;
  while (x > 2.3)
    x -= 1, f *= x;
  double r = (x - 1) * (x - 2) * gompy_poly_lgamma (x - 1.5);
  return f == 1 ? r : r + gompy_log (f);
}

GOMPY_MATH double
gompy_lgamma (double x)
{
  if (!gompy_is_finite (x))
    return gompy_abs (x);
  if (x <= 0 && gompy_integer_kind (x) + (x == 0))
    return GOMPY_INF;
  if (x > 0)
    return gompy_lgamma_positive (x);
  double s, c;
  gompy_sincospi (x, &s, &c);
  return gompy_log (GOMPY_PI / gompy_abs (s * x)) - gompy_lgamma_positive (-x);
}

#endif
