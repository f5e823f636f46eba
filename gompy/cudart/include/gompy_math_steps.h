/* Exact functions of the device, and small ones made of others: as gompy_math_double.h.  */
#ifndef GOMPY_MATH_STEPS_H
#define GOMPY_MATH_STEPS_H

#include "gompy_math_circles.h"

GOMPY_MATH double
gompy_sinpi (double x)
{
  double s, c;
  gompy_sincospi (x, &s, &c);
  return s;
}

GOMPY_MATH double
gompy_cospi (double x)
{
  double s, c;
  gompy_sincospi (x, &s, &c);
  return c;
}

GOMPY_MATH double gompy_normcdf (double x) { return 0.5 * gompy_erfc (-0.7071067811865476 * x); }
GOMPY_MATH double gompy_normcdfinv (double p) { return -1.4142135623730951 * gompy_erfcinv (2 * p); }
GOMPY_MATH double gompy_rcbrt (double x) { return 1 / gompy_cbrt (x); }

/* Halves away from 0.  */
GOMPY_MATH double
gompy_round (double x)
{
  double t = __builtin_trunc (x);
  return gompy_with_sign (gompy_abs (x - t) >= 0.5 ? gompy_abs (t) + 1 : gompy_abs (t), x);
}

GOMPY_MATH double
gompy_frexp (double x, int *e)
{
  *e = 0;
  if (x == 0 || !gompy_is_finite (x))
    return x;
  double m = gompy_split (x, e);
  *e += 1;
  return 0.5 * m;
}

GOMPY_MATH int
gompy_ilogb (double x)
{
  int e;
  if (x == 0 || gompy_is_nan (x))
    return (int) 0x80000000u;
  if (gompy_is_inf (x))
    return 0x7fffffff;
  gompy_split (x, &e);
  return e;
}

GOMPY_MATH double
gompy_logb (double x)
{
  if (x == 0)
    return -GOMPY_INF;
  return gompy_is_finite (x) ? gompy_ilogb (x) : x * x;
}

GOMPY_MATH double
gompy_modf (double x, double *whole)
{
  *whole = __builtin_trunc (x);
  return gompy_with_sign (gompy_is_inf (x) ? 0 : x - *whole, x);
}

GOMPY_MATH double
gompy_nextafter (double x, double y)
{
  if (gompy_is_nan (x) || gompy_is_nan (y))
    return x + y;
  if (x == y)
    return y;
  if (x == 0)
    return gompy_with_sign (gompy_of_bits (1), y);
  return gompy_of_bits (gompy_bits (x) + ((x < y) == (x > 0) ? 1 : -1));
}

/* |x| modulo |y|, and the quotient's last bits; both finite, y not 0.  */
GOMPY_MATH double
gompy_modulo (double x, double y, unsigned *quotient)
{
  int e, f;
  *quotient = 0;
  x = gompy_abs (x), y = gompy_abs (y);
  if (x < y)
    return x;
  unsigned long long a = (gompy_bits (gompy_split (x, &e)) & 0xfffffffffffffll) | 0x10000000000000ll;
  unsigned long long b = (gompy_bits (gompy_split (y, &f)) & 0xfffffffffffffll) | 0x10000000000000ll;
  for (int left = e - f; left > 0; left--)
    {
      unsigned fits = a >= b;
      *quotient = (*quotient | fits) << 1;
      a = (a - (fits ? b : 0)) << 1;
    }
  if (a >= b)
    *quotient |= 1, a -= b;
  return gompy_scale ((double) a, f - 52);
}

GOMPY_MATH bool
gompy_modulo_special (double x, double y, double *result)
{
  if (gompy_is_nan (x) || gompy_is_nan (y) || gompy_is_inf (x) || y == 0)
    *result = gompy_is_nan (x) || gompy_is_nan (y) ? x + y : GOMPY_NAN;
  else if (gompy_is_inf (y) || x == 0)
    *result = x;
  else
    return false;
  return true;
}

GOMPY_MATH double
gompy_fmod (double x, double y)
{
  double special;
  unsigned quotient;
  if (gompy_modulo_special (x, y, &special))
    return special;
  return gompy_with_sign (gompy_modulo (x, y, &quotient), x);
}

GOMPY_MATH double
gompy_remquo (double x, double y, int *q)
{
  double special;
  unsigned quotient;
  *q = 0;
  if (gompy_modulo_special (x, y, &special))
    return special;
  double r = gompy_modulo (x, y, &quotient), half = 0.5 * gompy_abs (y), top = gompy_abs (y);
  if (top < 0x1p-1021 ? r + r > top || (r + r == top && quotient & 1) : r > half || (r == half && quotient & 1))
    r -= top, quotient++;
  quotient &= 0x7fffffff;
  *q = gompy_is_negative (x) != gompy_is_negative (y) ? -(int) quotient : (int) quotient;
  if (r == 0)
    return gompy_with_sign (0, x);
  return gompy_is_negative (x) ? -r : r;
}

GOMPY_MATH double
gompy_remainder (double x, double y)
{
  int q;
  return gompy_remquo (x, y, &q);
}

#endif
