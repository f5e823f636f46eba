/* Complex numbers for C++ on host and device, by the names of CUDA's cuComplex.h.

   Quotients and absolute values are scaled by the greater part, so that they do not overflow where the result does
   not.  */
#ifndef GOMPY_CU_COMPLEX_H
#define GOMPY_CU_COMPLEX_H

#include "cuda_runtime.h"
#include <math.h>

#ifdef __CUDA__
#define GOMPY_BOTH static __host__ __device__ inline
#else
#define GOMPY_BOTH static inline
#endif

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define GOMPY_COMPLEX(Complex, T, F, name)                                                                             \
  GOMPY_BOTH T cuCreal##F (Complex z) { return z.x; }                                                                  \
  GOMPY_BOTH T cuCimag##F (Complex z) { return z.y; }                                                                  \
  GOMPY_BOTH Complex make_##name (T real, T imaginary)                                                                 \
  {                                                                                                                    \
    Complex z;                                                                                                         \
    z.x = real;                                                                                                        \
    z.y = imaginary;                                                                                                   \
    return z;                                                                                                          \
  }                                                                                                                    \
  GOMPY_BOTH Complex cuConj##F (Complex z) { return make_##name (z.x, -z.y); }                                         \
  GOMPY_BOTH Complex cuCadd##F (Complex a, Complex b) { return make_##name (a.x + b.x, a.y + b.y); }                   \
  GOMPY_BOTH Complex cuCsub##F (Complex a, Complex b) { return make_##name (a.x - b.x, a.y - b.y); }                   \
  GOMPY_BOTH Complex cuCmul##F (Complex a, Complex b)                                                                  \
  {                                                                                                                    \
    return make_##name (a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                                                 \
  }                                                                                                                    \
  GOMPY_BOTH Complex cuCfma##F (Complex a, Complex b, Complex c)                                                       \
  {                                                                                                                    \
    return make_##name (a.x * b.x - a.y * b.y + c.x, a.x * b.y + a.y * b.x + c.y);                                     \
  }                                                                                                                    \
  GOMPY_BOTH Complex cuCdiv##F (Complex a, Complex b)                                                                  \
  {                                                                                                                    \
    T scale = 1 / (fabs##F (b.x) + fabs##F (b.y));                                                                     \
    T ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;                                          \
    T one = 1 / (bx * bx + by * by);                                                                                   \
    return make_##name ((ax * bx + ay * by) * one, (ay * bx - ax * by) * one);                                         \
  }                                                                                                                    \
  GOMPY_BOTH T cuCabs##F (Complex z) { return hypot##F (z.x, z.y); }
GOMPY_COMPLEX (cuFloatComplex, float, f, cuFloatComplex)
GOMPY_COMPLEX (cuDoubleComplex, double, , cuDoubleComplex)
#undef GOMPY_COMPLEX

GOMPY_BOTH cuComplex make_cuComplex (float real, float imaginary) { return make_cuFloatComplex (real, imaginary); }
GOMPY_BOTH cuDoubleComplex
cuComplexFloatToDouble (cuFloatComplex z)
{
  return make_cuDoubleComplex (z.x, z.y);
}
GOMPY_BOTH cuFloatComplex
cuComplexDoubleToFloat (cuDoubleComplex z)
{
  return make_cuFloatComplex ((float) z.x, (float) z.y);
}
#undef GOMPY_BOTH

#endif
