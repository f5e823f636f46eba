/* The device's mathematical functions in double precision: gompy's own, behind the names that clang's headers call.

   Methods are textbook ones: argument reduction by fma, polynomials, sums of two doubles where one is not enough.  */
#ifndef GOMPY_MATH_DOUBLE_H
#define GOMPY_MATH_DOUBLE_H

#include "gompy_math_polynomials.h"

#define GOMPY_NAN __builtin_nan ("")
#define GOMPY_INF __builtin_inf ()
#define GOMPY_LN2_HI 0.6931471803691238
#define GOMPY_LN2_LO 1.9082149292705877e-10
#define GOMPY_1_LN2 1.4426950408889634
#define GOMPY_PI 3.141592653589793
#define GOMPY_PI_LO 1.2246467991473532e-16

typedef struct gompy_pair { double hi, lo; } gompy_pair; /* a sum */

GOMPY_MATH long long gompy_bits (double x) { return __builtin_bit_cast (long long, x); }
GOMPY_MATH double gompy_of_bits (long long x) { return __builtin_bit_cast (double, x); }
GOMPY_MATH double gompy_abs (double x) { return __nvvm_fabs_d (x); }
GOMPY_MATH bool gompy_is_nan (double x) { return (gompy_bits (x) & 0x7fffffffffffffffll) > 0x7ff0000000000000ll; }
GOMPY_MATH bool gompy_is_inf (double x) { return (gompy_bits (x) & 0x7fffffffffffffffll) == 0x7ff0000000000000ll; }
GOMPY_MATH bool gompy_is_finite (double x) { return (gompy_bits (x) & 0x7fffffffffffffffll) < 0x7ff0000000000000ll; }
GOMPY_MATH bool gompy_is_negative (double x) { return gompy_bits (x) < 0; }
GOMPY_MATH double
gompy_with_sign (double x, double sign)
{
  return gompy_of_bits ((gompy_bits (x) & 0x7fffffffffffffffll)
                        | (gompy_bits (sign) & (long long) 0x8000000000000000ull));
}
GOMPY_MATH double gompy_power_of_2 (int e) { return gompy_of_bits ((long long) (e + 1023) << 52); }
GOMPY_MATH double gompy_nearest (double x) { return __builtin_rint (x); }

/* x * 2^e, rounded once.  */
GOMPY_MATH double
gompy_scale (double x, int e)
{
  if (e > 1023)
    {
      x *= 0x1p1023, e -= 1023;
      if (e > 1023)
        x *= 0x1p1023, e = e - 1023 > 1023 ? 1023 : e - 1023;
    }
  else if (e < -1022)
    {
      x *= 0x1p-969, e += 969;
      if (e < -1022)
        x *= 0x1p-969, e = e + 969 < -1022 ? -1022 : e + 969;
    }
  return x * gompy_power_of_2 (e);
}

/* The exponent of a finite x that is not 0, and x without it: 1 to 2.  */
GOMPY_MATH double
gompy_split (double x, int *e)
{
  int more = 0;
  if (gompy_abs (x) < 0x1p-1022)
    x *= 0x1p54, more = -54;
  long long bits = gompy_bits (x);
  *e = (int) (bits >> 52 & 2047) - 1023 + more;
  return gompy_of_bits ((bits & (long long) 0x800fffffffffffffull) | 0x3ff0000000000000ll);
}

GOMPY_MATH gompy_pair
gompy_sum (double a, double b) /* |a| >= |b| */
{
  double s = a + b;
  gompy_pair r = { s, b - (s - a) };
  return r;
}

GOMPY_MATH gompy_pair
gompy_product (gompy_pair a, gompy_pair b)
{
  double p = a.hi * b.hi;
  return gompy_sum (p, GOMPY_FMA (a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi));
}

/* --- Exponentials.  --- */

/* exp (r + tail) * 2^k, r up to log (2) / 2; the derivative is the function, so that the tail counts (1 + p) times.  */
GOMPY_MATH double
gompy_exp_reduced (double r, double tail, int k)
{
  double square = r * r * gompy_poly_exp (r);
  return gompy_scale (1 + (r + GOMPY_FMA (tail, 1 + (r + square), square)), k);
}

GOMPY_MATH double
gompy_exp_pair (double x, double tail)
{
  if (!(x < 710))
    return gompy_is_nan (x) ? x : GOMPY_INF;
  if (x < -746)
    return 0;
  double k = gompy_nearest (x * GOMPY_1_LN2);
  double r = GOMPY_FMA (-k, GOMPY_LN2_HI, x);
  double t = r;
  r = GOMPY_FMA (-k, GOMPY_LN2_LO, r);
  tail += GOMPY_FMA (-k, GOMPY_LN2_LO, t - r);
  return gompy_exp_reduced (r, tail, (int) k);
}

GOMPY_MATH double gompy_exp (double x) { return gompy_exp_pair (x, 0); }

GOMPY_MATH double
gompy_exp2 (double x)
{
  if (!(x < 1025))
    return gompy_is_nan (x) ? x : GOMPY_INF;
  if (x < -1076)
    return 0;
  double k = gompy_nearest (x), f = x - k, r = f * 0.6931471805599453;
  return gompy_exp_reduced (r, GOMPY_FMA (f, 0.6931471805599453, -r) + f * 2.3190468138462996e-17, (int) k);
}

GOMPY_MATH double
gompy_exp10 (double x)
{
  if (!(x < 309))
    return gompy_is_nan (x) ? x : GOMPY_INF;
  if (x < -325)
    return 0;
  double k = gompy_nearest (x * 3.321928094887362);
  double f = GOMPY_FMA (-k, 0.30102999560767785, x);
  double g = GOMPY_FMA (-k, 5.630334806675098e-11, f), lost = GOMPY_FMA (-k, 5.630334806675098e-11, f - g);
  double r = g * 2.302585092994046;
  double tail = GOMPY_FMA (g, 2.302585092994046, -r) + (lost * 2.302585092994046 - g * 2.1707562233822494e-16);
  return gompy_exp_reduced (r, tail, (int) k);
}

GOMPY_MATH double
gompy_expm1 (double x)
{
  if (gompy_abs (x) < 0.34)
    return GOMPY_FMA (x * x, gompy_poly_exp (x), x);
  if (x < -40)
    return -1;
  if (!(x < 710))
    return gompy_exp (x);
  double k = gompy_nearest (x * GOMPY_1_LN2);
  double r = GOMPY_FMA (-k, GOMPY_LN2_LO, GOMPY_FMA (-k, GOMPY_LN2_HI, x));
  double p = GOMPY_FMA (r * r, gompy_poly_exp (r), r);
  if (k > 1000)
    return gompy_scale (1 + p, (int) k);
  double two = gompy_power_of_2 ((int) k);
  return GOMPY_FMA (p, two, two - 1);
}

/* --- Logarithms.  --- */

/* log (x) = k log (2) + log (1 + f), 1 + f from sqrt (1/2) to sqrt (2).  */
GOMPY_MATH double
gompy_log_reduce (double x, int *k)
{
  double m = gompy_split (x, k);
  if (m > 1.4142135623730951)
    m *= 0.5, *k += 1;
  return m - 1;
}

GOMPY_MATH bool
gompy_log_special (double x, double *result)
{
  if (x > 0 && gompy_is_finite (x))
    return false;
  *result = x == 0 ? -GOMPY_INF : x > 0 || gompy_is_nan (x) ? x + x : GOMPY_NAN;
  return true;
}

GOMPY_MATH double
gompy_log1p_reduced (double f, double k, double tail)
{
  double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  double r = z * GOMPY_FMA (z, gompy_poly_log (z), 0.6666666666666666);
  return GOMPY_FMA (k, GOMPY_LN2_HI, f - (half - (s * (half + r) + GOMPY_FMA (k, GOMPY_LN2_LO, tail))));
}

GOMPY_MATH double
gompy_log (double x)
{
  double special;
  int k;
  if (gompy_log_special (x, &special))
    return special;
  double f = gompy_log_reduce (x, &k);
  return gompy_log1p_reduced (f, k, 0);
}

/* log (x) as a sum, to some 68 bits.  */
GOMPY_MATH gompy_pair
gompy_log_pair (double x)
{
  int k;
  double f = gompy_log_reduce (x, &k), t = 2 + f, rest = f - (t - 2);
  gompy_pair s;
  s.hi = f / t;
  s.lo = (GOMPY_FMA (-s.hi, t, f) - s.hi * rest) / t;
  gompy_pair z = gompy_product (s, s), third = { 0.6666666666666666, 3.700743415417188e-17 };
  gompy_pair cube = gompy_product (gompy_product (s, z), third);
  double more = s.hi * (z.hi * z.hi * gompy_poly_log (z.hi));
  gompy_pair sum = gompy_sum (2 * s.hi, cube.hi);
  sum.lo += 2 * s.lo + (cube.lo + more);
  sum = gompy_sum (sum.hi, sum.lo);
  if (k == 0)
    return sum;
  gompy_pair whole = gompy_sum (k * GOMPY_LN2_HI, sum.hi);
  return gompy_sum (whole.hi, whole.lo + (sum.lo + k * GOMPY_LN2_LO));
}

GOMPY_MATH double
gompy_log_base (double x, double hi, double lo)
{
  double special;
  if (gompy_log_special (x, &special))
    return special;
  gompy_pair one = gompy_log_pair (x), base = { hi, lo };
  gompy_pair p = gompy_product (one, base);
  return p.hi + p.lo;
}

GOMPY_MATH double gompy_log10 (double x) { return gompy_log_base (x, 0.4342944819032518, 1.098319650216765e-17); }
GOMPY_MATH double
gompy_log2 (double x)
{
  int e;
  if (x > 0 && gompy_is_finite (x) && gompy_split (x, &e) == 1)
    return e;
  return gompy_log_base (x, GOMPY_1_LN2, 2.0355273740931033e-17);
}

GOMPY_MATH double
gompy_log1p (double x)
{
  if (gompy_abs (x) < 0x1p-54)
    return x;
  if (!(x > -1) || !gompy_is_finite (x))
    return x == -1 ? -GOMPY_INF : x > 0 || gompy_is_nan (x) ? x + x : GOMPY_NAN;
  if (x > -0.29 && x < 0.41)
    return gompy_log1p_reduced (x, 0, 0);
  double u = 1 + x, lost = u > x ? (gompy_abs (x) > 1 ? 1 - (u - x) : x - (u - 1)) : 0;
  int k;
  double f = gompy_log_reduce (u, &k);
  return gompy_log1p_reduced (f, k, lost / u);
}

/* --- Powers.  --- */

/* 0: no integer, 1: odd, 2: even.  */
GOMPY_MATH int
gompy_integer_kind (double y)
{
  double a = gompy_abs (y);
  if (a >= 0x1p53)
    return 2;
  if (__builtin_trunc (a) != a)
    return 0;
  return (long long) a & 1 ? 1 : 2;
}

GOMPY_MATH double
gompy_pow (double x, double y)
{
  if (y == 0 || x == 1)
    return 1;
  if (gompy_is_nan (x) || gompy_is_nan (y))
    return x + y;
  double a = gompy_abs (x);
  int kind = gompy_integer_kind (y);
  if (gompy_is_inf (y))
    return a == 1 ? 1 : (a > 1) == (y > 0) ? GOMPY_INF : 0;
  if (x == 0 || gompy_is_inf (x))
    {
      double r = (x == 0) == (y > 0) ? 0 : GOMPY_INF;
      return gompy_is_negative (x) && kind == 1 ? -r : r;
    }
  if (x < 0 && kind == 0)
    return GOMPY_NAN;
  gompy_pair l = gompy_log_pair (a);
  double z = y * l.hi, r;
  if (z > 710 || z < -746)
    r = z > 0 ? GOMPY_INF : 0;
  else
    r = gompy_exp_pair (z, GOMPY_FMA (y, l.hi, -z) + y * l.lo);
  return x < 0 && kind == 1 ? -r : r;
}

GOMPY_MATH double
gompy_powi (double x, int n)
{
  unsigned left = n < 0 ? 0u - (unsigned) n : (unsigned) n;
  double r = 1;
  for (; left; left >>= 1, x *= x)
    if (left & 1)
      r *= x;
  return n < 0 ? 1 / r : r;
}

GOMPY_MATH double
gompy_cbrt (double x)
{
  int e;
  if (x == 0 || !gompy_is_finite (x))
    return x + x;
  double m = gompy_abs (gompy_split (x, &e));
  int third = (e + 3072) / 3 - 1024;
  m = gompy_scale (m, e - 3 * third); /* from 1 to 8 */
  double t = gompy_exp (gompy_log (m) * 0.3333333333333333);
  t -= GOMPY_FMA (t * t, t, -m) / (3 * t * t);
  return gompy_with_sign (gompy_scale (t, third), x);
}

/* sqrt (a^2 + b^2 + c^2 + d^2).  */
GOMPY_MATH double
gompy_norm (double a, double b, double c, double d)
{
  a = gompy_abs (a), b = gompy_abs (b), c = gompy_abs (c), d = gompy_abs (d);
  double top = __nvvm_fmax_d (__nvvm_fmax_d (a, b), __nvvm_fmax_d (c, d));
  int e;
  if (gompy_is_inf (top))
    return top;
  double whole = a + b + c + d;
  if (top == 0 || gompy_is_nan (whole))
    return whole;
  gompy_split (top, &e);
  a = gompy_scale (a, -e), b = gompy_scale (b, -e), c = gompy_scale (c, -e), d = gompy_scale (d, -e);
  double s = GOMPY_FMA (a, a, GOMPY_FMA (b, b, GOMPY_FMA (c, c, d * d)));
  double r = __nvvm_sqrt_rn_d (s), back = GOMPY_FMA (-r, r, s); /* a step for what squares and sums have lost */
  return gompy_scale (GOMPY_FMA (back, 0.5 / r, r), e);
}

#endif
