#include "kernel.cuh"
#include "newton-sqrt/steps.h"

static inline __device__ void
body (long n, long, const double *a, const double *, double *r, int simd)
{
  FOR (i, n, simd)
    {
      double v = a[i], x = 0.5 * (v + 1);
      for (int k = 0; k < STEPS; k++)
        x = 0.5 * (x + v / x);
      r[i] = x;
    }
}

BOTH
