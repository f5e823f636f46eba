/* Who works where in the CUDA kernels: a team is a block, a thread a warp, a simd lane a thread of the warp.  */

#ifndef KERNEL_CUH
#define KERNEL_CUH

#define WARP 32

/* With simd all threads count, without it the first of each warp.  FOR gives the thread its part of 0 to n - 1.  */
#define FOR(i, n, simd)                                                                                                 \
  for (long i = (simd) ? (long) blockIdx.x * blockDim.x + threadIdx.x                                                   \
                       : ((long) blockIdx.x * blockDim.x + threadIdx.x) / WARP,                                         \
            step = (long) gridDim.x * blockDim.x / ((simd) ? 1 : WARP);                                                 \
       i < (n) && ((simd) || threadIdx.x % WARP == 0); i += step)

/* Both kernels of a benchmark, made from its function body (n, nr, a, b, r, simd).  */
#define BOTH                                                                                                            \
  extern "C" __global__ void with_simd (long n, long nr, const double *a, const double *b, double *r)                   \
  {                                                                                                                     \
    body (n, nr, a, b, r, 1);                                                                                           \
  }                                                                                                                     \
  extern "C" __global__ void without_simd (long n, long nr, const double *a, const double *b, double *r)                \
  {                                                                                                                     \
    body (n, nr, a, b, r, 0);                                                                                           \
  }

#endif
