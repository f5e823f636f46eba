#include "kernel.cuh"

static inline __device__ void
body (long n, long, const double *a, const double *b, double *r, int simd)
{
  FOR (i, n, simd)
    r[i] = a[i] + b[i];
}

BOTH
