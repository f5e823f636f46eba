/* min and max of CUDA C++, on both sides, for the types that its Math API lists.  clang's headers have that of two int
   on the device alone, and so took whatever else for int.  */
#ifndef GOMPY_CUDA_ORDER_H
#define GOMPY_CUDA_ORDER_H

#define GOMPY_ORDER(where, result, one, other) \
  static __inline__ where result min (one a, other b) { return (result) a < (result) b ? (result) a : (result) b; } \
  static __inline__ where result max (one a, other b) { return (result) a > (result) b ? (result) a : (result) b; }
#define GOMPY_ORDER_WHOLE(kind) \
  GOMPY_ORDER (__host__ __device__, unsigned kind, unsigned kind, unsigned kind) \
  GOMPY_ORDER (__host__ __device__, unsigned kind, kind, unsigned kind) \
  GOMPY_ORDER (__host__ __device__, unsigned kind, unsigned kind, kind)
/* Of a number and no number the number.  */
#define GOMPY_ORDER_FLOAT(result, one, other, ending) \
  static __inline__ __host__ __device__ result min (one a, other b) { return __builtin_fmin##ending (a, b); } \
  static __inline__ __host__ __device__ result max (one a, other b) { return __builtin_fmax##ending (a, b); }

GOMPY_ORDER (__host__, int, int, int)
GOMPY_ORDER (__host__ __device__, long, long, long)
GOMPY_ORDER (__host__ __device__, long long, long long, long long)
GOMPY_ORDER_WHOLE (int)
GOMPY_ORDER_WHOLE (long)
GOMPY_ORDER_WHOLE (long long)
GOMPY_ORDER_FLOAT (float, float, float, f)
GOMPY_ORDER_FLOAT (double, double, double, )
GOMPY_ORDER_FLOAT (double, float, double, )
GOMPY_ORDER_FLOAT (double, double, float, )

#undef GOMPY_ORDER
#undef GOMPY_ORDER_WHOLE
#undef GOMPY_ORDER_FLOAT
#endif
