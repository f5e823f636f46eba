/* CUDA C++ for clang without NVIDIA's headers: included by `gompy cuda cc` before a .cu file, as nvcc includes its own.

   Device functions are clang's (its __clang_cuda_*.h); what these leave to CUDA is here and beside this file.
   Another compiler gets the calls for the host.  */
#ifndef GOMPY_CUDA_RUNTIME_H
#define GOMPY_CUDA_RUNTIME_H

#ifdef __CUDA__

#include <__clang_cuda_math_forward_declares.h>

#ifndef __CUDACC__
#define __CUDACC__
#endif
#include <cmath>
#include <cstdlib>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __host__ __attribute__ ((host))
#define __device__ __attribute__ ((device))
#define __global__ __attribute__ ((global))
#define __shared__ __attribute__ ((shared))
#define __constant__ __attribute__ ((constant))
#define __launch_bounds__(...) __attribute__ ((launch_bounds (__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__ ((always_inline))
#ifndef __noinline__
#define __noinline__ __attribute__ ((noinline))
#endif
#define __align__(n) __attribute__ ((aligned (n)))
#ifdef GOMPY_CUDA_NOT_MANAGED /* PTX alone, or code that is linked with other files' */
#define __managed__ _Pragma ("GCC error \"__managed__ is not implemented here by gompy: use cudaMallocManaged\"")
#else
#define __managed__ __attribute__ ((device, section ("gompy_managed"))) /* managed_code.py */
#endif
#define __grid_constant__
#ifndef __cluster_dims__
template <int x, int y = 1, int z = 1> struct gompy_cluster
{
  static_assert (x == 1 && y == 1 && z == 1, "clusters of more than one block are not implemented by gompy");
  enum { alignment = 1 };
};
#define __cluster_dims__(...) __attribute__ ((aligned (gompy_cluster<__VA_ARGS__>::alignment)))
#endif

#endif

#include "gompy_cuda_version.h"
#include "cuda_runtime_api.h"
#include "library_types.h"

#ifdef __CUDA__

extern "C" unsigned __cudaPushCallConfiguration (dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" cudaError_t cudaConfigureCall (dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

#if __clang_major__ < 15
#include "gompy_clang14.h"
#endif
#include <__clang_cuda_builtin_vars.h>
#include "gompy_libdevice.h" /* for clang's __clang_cuda_libdevice_declares.h */
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
#include "gompy_cuda_order.h"
#include "gompy_cuda_device.h"
#include <__clang_cuda_cmath.h>
/* clang 18 and later have these, for the architectures that have the instruction; gompy_cuda_device.h does for all.  */
#define __reduce_add_sync gompy_clang_reduce_add_sync
#define __reduce_min_sync gompy_clang_reduce_min_sync
#define __reduce_max_sync gompy_clang_reduce_max_sync
#define __reduce_and_sync gompy_clang_reduce_and_sync
#define __reduce_or_sync gompy_clang_reduce_or_sync
#define __reduce_xor_sync gompy_clang_reduce_xor_sync
#if __clang_major__ < 15
#include "gompy_clang14_shuffles.h"
#endif
#include <__clang_cuda_intrinsics.h>
#undef __reduce_add_sync
#undef __reduce_min_sync
#undef __reduce_max_sync
#undef __reduce_and_sync
#undef __reduce_or_sync
#undef __reduce_xor_sync
#include <__clang_cuda_complex_builtins.h>
#include <assert.h>
#include <new>

#endif

#ifdef __cplusplus
#include "gompy_cuda_cxx.h"
#ifdef __CUDA__
#include "gompy_cuda_texture.h"
#include "gompy_cuda_surface.h"
#endif
#endif

#endif
