/* Device functions that clang's own headers leave to CUDA's: atomics, stdio, the heap, builtin variables as vectors.

   Names and meanings: CUDA C++ Programming Guide.  Made of clang's __nvvm builtins.  */
#ifndef GOMPY_CUDA_DEVICE_H
#define GOMPY_CUDA_DEVICE_H

#define GOMPY_DEVICE static __inline__ __attribute__ ((device, always_inline, nodebug))

/* --- Atomics: type, builtin's ending, type that the builtin takes.  --- */
#define GOMPY_ATOMIC(name, op, type, ending, taken) \
  GOMPY_DEVICE type name (type *at, type value) \
  { \
    return (type) __nvvm_atom_##op##_gen_##ending ((taken *) at, (taken) value); \
  }

/* With _block and _system.  */
#define GOMPY_ATOMICS(name, op, type, ending, taken) \
  GOMPY_ATOMIC (name, op, type, ending, taken) \
  GOMPY_SCOPED (name##_block, op, cta, type, ending, taken) \
  GOMPY_SCOPED (name##_system, op, sys, type, ending, taken)

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 600
#define GOMPY_SCOPED(name, op, scope, type, ending, taken) \
  GOMPY_DEVICE type name (type *at, type value) \
  { \
    return (type) __nvvm_atom_##scope##_##op##_gen_##ending ((taken *) at, (taken) value); \
  }
#else
#define GOMPY_SCOPED(name, op, scope, type, ending, taken) \
  GOMPY_DEVICE type name (type *at, type value);
#endif

GOMPY_ATOMICS (atomicAdd, add, int, i, int)
GOMPY_ATOMICS (atomicAdd, add, unsigned, i, int)
GOMPY_ATOMICS (atomicAdd, add, unsigned long long, ll, long long)
GOMPY_ATOMICS (atomicAdd, add, float, f, float)
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 600
GOMPY_ATOMICS (atomicAdd, add, double, d, double)
#endif
GOMPY_ATOMICS (atomicExch, xchg, int, i, int)
GOMPY_ATOMICS (atomicExch, xchg, unsigned, i, int)
GOMPY_ATOMICS (atomicExch, xchg, unsigned long long, ll, long long)
GOMPY_ATOMICS (atomicMin, min, int, i, int)
GOMPY_ATOMICS (atomicMin, min, unsigned, ui, unsigned)
GOMPY_ATOMICS (atomicMin, min, long long, ll, long long)
GOMPY_ATOMICS (atomicMin, min, unsigned long long, ull, unsigned long long)
GOMPY_ATOMICS (atomicMax, max, int, i, int)
GOMPY_ATOMICS (atomicMax, max, unsigned, ui, unsigned)
GOMPY_ATOMICS (atomicMax, max, long long, ll, long long)
GOMPY_ATOMICS (atomicMax, max, unsigned long long, ull, unsigned long long)
GOMPY_ATOMICS (atomicAnd, and, int, i, int)
GOMPY_ATOMICS (atomicAnd, and, unsigned, i, int)
GOMPY_ATOMICS (atomicAnd, and, unsigned long long, ll, long long)
GOMPY_ATOMICS (atomicOr, or, int, i, int)
GOMPY_ATOMICS (atomicOr, or, unsigned, i, int)
GOMPY_ATOMICS (atomicOr, or, unsigned long long, ll, long long)
GOMPY_ATOMICS (atomicXor, xor, int, i, int)
GOMPY_ATOMICS (atomicXor, xor, unsigned, i, int)
GOMPY_ATOMICS (atomicXor, xor, unsigned long long, ll, long long)
GOMPY_ATOMICS (atomicInc, inc, unsigned, ui, unsigned)
GOMPY_ATOMICS (atomicDec, dec, unsigned, ui, unsigned)
#undef GOMPY_ATOMIC
#undef GOMPY_ATOMICS
#undef GOMPY_SCOPED

GOMPY_DEVICE int atomicSub (int *at, int value) { return atomicAdd (at, -value); }
GOMPY_DEVICE unsigned atomicSub (unsigned *at, unsigned value) { return atomicAdd (at, 0u - value); }
GOMPY_DEVICE float
atomicExch (float *at, float value)
{
  return __builtin_bit_cast (float, atomicExch ((int *) at, __builtin_bit_cast (int, value)));
}

#define GOMPY_SWAP(type, ending, taken) \
  GOMPY_DEVICE type atomicCAS (type *at, type old, type value) \
  { \
    return (type) __nvvm_atom_cas_gen_##ending ((taken *) at, (taken) old, (taken) value); \
  }
GOMPY_SWAP (int, i, int)
GOMPY_SWAP (unsigned, i, int)
GOMPY_SWAP (unsigned long long, ll, long long)
#undef GOMPY_SWAP
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 700
GOMPY_DEVICE unsigned short
atomicCAS (unsigned short *at, unsigned short old, unsigned short value)
{
  unsigned short found;
  asm volatile ("atom.cas.b16 %0, [%1], %2, %3;" : "=h" (found) : "l" (at), "h" (old), "h" (value) : "memory");
  return found;
}
#endif
/* The narrower scopes: an operation of the whole device is one of them, too.  */
#define GOMPY_SWAP_IN(scope) \
  template <typename T> GOMPY_DEVICE T atomicCAS_##scope (T *at, T old, T value) { return atomicCAS (at, old, value); }
GOMPY_SWAP_IN (block)
GOMPY_SWAP_IN (system)
#undef GOMPY_SWAP_IN

/* --- Dot products of bytes and of halves of words with bytes, added to c.  --- */
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 610
#define GOMPY_DOT(name, words, type) \
  GOMPY_DEVICE type name (type a, type b, type c) \
  { \
    type to; \
    asm (words " %0, %1, %2, %3;" : "=r" (to) : "r" (a), "r" (b), "r" (c)); \
    return to; \
  }
GOMPY_DOT (__dp4a, "dp4a.s32.s32", int)
GOMPY_DOT (__dp4a, "dp4a.u32.u32", unsigned)
GOMPY_DOT (__dp2a_lo, "dp2a.lo.s32.s32", int)
GOMPY_DOT (__dp2a_lo, "dp2a.lo.u32.u32", unsigned)
GOMPY_DOT (__dp2a_hi, "dp2a.hi.s32.s32", int)
GOMPY_DOT (__dp2a_hi, "dp2a.hi.u32.u32", unsigned)
#undef GOMPY_DOT
#endif

/* --- Hints for caches, which the emulated device has none of.  A clang that has some of these for its types has the
   better overloads.  A value is converted to what stands at the address.  --- */
template <typename T> struct gompy_just { typedef T type; };
template <typename T> GOMPY_DEVICE T __ldca (const T *at) { return *at; }
template <typename T> GOMPY_DEVICE T __ldcg (const T *at) { return *at; }
template <typename T> GOMPY_DEVICE T __ldcs (const T *at) { return *at; }
template <typename T> GOMPY_DEVICE T __ldlu (const T *at) { return *at; }
template <typename T>
GOMPY_DEVICE T
__ldcv (const T *at)
{
  asm volatile ("" : : : "memory"); /* each call looks again */
  return *at;
}
template <typename T> GOMPY_DEVICE void __stwb (T *at, typename gompy_just<T>::type value) { *at = value; }
template <typename T> GOMPY_DEVICE void __stwt (T *at, typename gompy_just<T>::type value) { *at = value; }
template <typename T> GOMPY_DEVICE void __stcg (T *at, typename gompy_just<T>::type value) { *at = value; }
template <typename T> GOMPY_DEVICE void __stcs (T *at, typename gompy_just<T>::type value) { *at = value; }

/* --- Numbers that are none: declared by clang's headers, defined by CUDA's alone.  --- */
GOMPY_DEVICE double nan (const char *) { return __builtin_nan (""); }
GOMPY_DEVICE float nanf (const char *) { return __builtin_nanf (""); }

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 700
GOMPY_DEVICE void __nanosleep (unsigned ns) { asm volatile ("nanosleep.u32 %0;" : : "r" (ns)); }
#endif

/* --- Reductions over the lanes of a mask.  --- */
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
#define GOMPY_REDUX(name, words, type) \
  GOMPY_DEVICE type name (unsigned mask, type value) \
  { \
    type to; \
    asm volatile ("redux.sync." words " %0, %1, %2;" : "=r" (to) : "r" (value), "r" (mask)); \
    return to; \
  }
GOMPY_REDUX (__reduce_add_sync, "add.s32", int)
GOMPY_REDUX (__reduce_add_sync, "add.u32", unsigned)
GOMPY_REDUX (__reduce_min_sync, "min.s32", int)
GOMPY_REDUX (__reduce_min_sync, "min.u32", unsigned)
GOMPY_REDUX (__reduce_max_sync, "max.s32", int)
GOMPY_REDUX (__reduce_max_sync, "max.u32", unsigned)
GOMPY_REDUX (__reduce_and_sync, "and.b32", unsigned)
GOMPY_REDUX (__reduce_or_sync, "or.b32", unsigned)
GOMPY_REDUX (__reduce_xor_sync, "xor.b32", unsigned)
#undef GOMPY_REDUX
#endif

/* What a conditional node of a graph does: its handle is the address of a word.  */
GOMPY_DEVICE void
cudaGraphSetConditional (cudaGraphConditionalHandle handle, unsigned value)
{
  *(volatile unsigned *) handle = value;
}

/* --- What the device has of the C library.  --- */
extern "C" {
__attribute__ ((device)) int vprintf (const char *, const char *);
__attribute__ ((device)) int printf (const char *, ...);
__attribute__ ((device, nothrow)) void free (void *);
__attribute__ ((device, nothrow, malloc)) void *malloc (size_t);
__attribute__ ((device)) void __assertfail (const char *, const char *, unsigned, const char *, size_t);
GOMPY_DEVICE void
__assert_fail (const char *what, const char *file, unsigned line, const char *function)
{
  __assertfail (what, file, line, function, 1);
}
/* A vtable has these for functions that are pure and deleted.  They are made where a vtable names them.  */
__attribute__ ((device, weak, noreturn)) inline void __cxa_pure_virtual (void) { __builtin_trap (); }
__attribute__ ((device, weak, noreturn)) inline void __cxa_deleted_virtual (void) { __builtin_trap (); }
}

namespace std
{
GOMPY_DEVICE void free (void *at) { ::free (at); }
GOMPY_DEVICE void *malloc (size_t size) { return ::malloc (size); }
}

/* --- The builtin variables as vectors: clang declares these conversions and leaves them to CUDA's headers.  --- */
#define GOMPY_AS_VECTORS(kind) \
  __attribute__ ((device)) inline kind::operator dim3 () const { return dim3 (x, y, z); } \
  __attribute__ ((device)) inline kind::operator uint3 () const { return uint3 { x, y, z }; }
GOMPY_AS_VECTORS (__cuda_builtin_threadIdx_t)
GOMPY_AS_VECTORS (__cuda_builtin_blockIdx_t)
GOMPY_AS_VECTORS (__cuda_builtin_blockDim_t)
GOMPY_AS_VECTORS (__cuda_builtin_gridDim_t)
#undef GOMPY_AS_VECTORS

/* Which memory a generic address is of, and the address there (CUDA C++ Programming Guide, "Address Space Predicate
   Functions", "Address Space Conversion Functions").  clang's headers from 17 on use some of them.  */
#define GOMPY_SPACE(Name, name, space, builtin) \
  GOMPY_DEVICE unsigned __is##Name (const void *p) { return builtin (p); } \
  GOMPY_DEVICE size_t __cvta_generic_to_##name (const void *p) \
  { \
    return (size_t) (__attribute__ ((address_space (space))) const void *) p; \
  } \
  GOMPY_DEVICE void *__cvta_##name##_to_generic (size_t p) \
  { \
    return (void *) (__attribute__ ((address_space (space))) void *) p; \
  }
GOMPY_SPACE (Global, global, 1, __nvvm_isspacep_global)
GOMPY_SPACE (Shared, shared, 3, __nvvm_isspacep_shared)
GOMPY_SPACE (Constant, constant, 4, __nvvm_isspacep_const)
GOMPY_SPACE (Local, local, 5, __nvvm_isspacep_local)
#undef GOMPY_SPACE

#endif
