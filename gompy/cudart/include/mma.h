/* nvcuda::wmma (CUDA C++ Programming Guide, "Warp Matrix Functions"): matrices that a warp loads, multiplies and stores
   together, by clang's builtins.  A function is instantiated where it is used: what the architecture lacks is an error
   there.  */
#ifndef GOMPY_CUDA_MMA_H
#define GOMPY_CUDA_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#ifdef __CUDA__
#define GOMPY_WMMA_DEVICE static __inline__ __attribute__ ((device, always_inline, nodebug))

namespace nvcuda
{
namespace wmma
{
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t
{
  mem_row_major,
  mem_col_major
};
namespace precision
{
struct tf32;
}
namespace experimental
{
namespace precision
{
struct u4;
struct s4;
struct b1;
}
enum bmmaBitOp
{
  bmmaBitOpXOR = 1,
  bmmaBitOpAND = 2
};
enum bmmaAccumulateOp
{
  bmmaAccumulateOpPOPC = 1
};
}

template <class Layout> struct gompy_layout;
template <> struct gompy_layout<row_major> { enum { column = 0 }; };
template <> struct gompy_layout<col_major> { enum { column = 1 }; };

/* The elements that a lane has; packed: how many there are in one of x.  */
template <class T, int count, int packed = 1>
struct gompy_elements
{
  enum { num_elements = count * packed, num_storage_elements = count };
  typedef T element_type;
  typedef T storage_element_type;
  T x[count];
};

template <class Use, int m, int n, int k, class T, class Layout = void> struct fragment;

template <class T, int count, int packed, class V>
GOMPY_WMMA_DEVICE void
fill_fragment (gompy_elements<T, count, packed> &to, const V &value)
{
  for (int i = 0; i < count; i++)
    to.x[i] = T (value);
}

GOMPY_WMMA_DEVICE float
__float_to_tf32 (float x)
{
  unsigned bits;
  asm ("cvt.rna.tf32.f32 %0, %1;" : "=r" (bits) : "f" (x));
  return __builtin_bit_cast (float, bits);
}

/* A fragment of a or b: KIND as the program names it, as T in memory, COUNT of STORED a lane, as WORDs for clang.  */
#define GOMPY_WMMA_FACTOR(USE, M, N, K, KIND, T, STORED, COUNT, PACKED, WORD, LOAD) \
  template <class Layout> \
  struct fragment<USE, M, N, K, KIND, Layout> : gompy_elements<STORED, COUNT, PACKED> {}; \
  template <class Layout> \
  GOMPY_WMMA_DEVICE void load_matrix_sync (fragment<USE, M, N, K, KIND, Layout> &to, const T *from, unsigned apart) \
  { \
    WORD words[sizeof to.x / sizeof (WORD)]; \
    LOAD (words, (const WORD *) from, apart, gompy_layout<Layout>::column); \
    __builtin_memcpy (to.x, words, sizeof words); \
  }
#define GOMPY_WMMA_SUM(M, N, K, T, COUNT, WORD, LOAD, STORE) \
  template <> struct fragment<accumulator, M, N, K, T, void> : gompy_elements<T, COUNT> {}; \
  template <class Layout> \
  GOMPY_WMMA_DEVICE void \
  load_matrix_sync (fragment<accumulator, M, N, K, T, Layout> &to, const T *from, unsigned apart, layout_t layout) \
  { \
    WORD words[sizeof to.x / sizeof (WORD)]; \
    if (layout == mem_row_major) \
      LOAD (words, (const WORD *) from, apart, 0); \
    else \
      LOAD (words, (const WORD *) from, apart, 1); \
    __builtin_memcpy (to.x, words, sizeof words); \
  } \
  template <class Layout> \
  GOMPY_WMMA_DEVICE void \
  store_matrix_sync (T *to, const fragment<accumulator, M, N, K, T, Layout> &from, unsigned apart, layout_t layout) \
  { \
    WORD words[sizeof from.x / sizeof (WORD)]; \
    __builtin_memcpy (words, from.x, sizeof words); \
    if (layout == mem_row_major) \
      STORE ((WORD *) to, words, apart, 0); \
    else \
      STORE ((WORD *) to, words, apart, 1); \
  }

/* d = a * b + c; PARAMETER and LAST: whether sums stop at the largest number, or nothing.  */
#define GOMPY_WMMA_PRODUCT(M, N, K, KIND, WORD, D, DWORD, C, CWORD, MMA) \
  GOMPY_WMMA_CALL (mma_sync, M, N, K, KIND, WORD, D, DWORD, C, CWORD, GOMPY_WMMA_PLAIN, MMA, )
#define GOMPY_WMMA_STOPPED(M, N, K, KIND, WORD, D, DWORD, C, CWORD, MMA) \
  GOMPY_WMMA_CALL (mma_sync, M, N, K, KIND, WORD, D, DWORD, C, CWORD, GOMPY_WMMA_EITHER, MMA, , bool stop = false)
#define GOMPY_WMMA_PLAIN(MMA) MMA (words, left, right, add, layouts, 0);
#define GOMPY_WMMA_EITHER(MMA) \
  if (stop) \
    MMA (words, left, right, add, layouts, 1); \
  else \
    MMA (words, left, right, add, layouts, 0);
#define GOMPY_WMMA_CALL(NAME, M, N, K, KIND, WORD, D, DWORD, C, CWORD, RUN, MMA, ...) \
  template <class A, class B> \
  GOMPY_WMMA_DEVICE void NAME (fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, KIND, A> &a, \
                               const fragment<matrix_b, M, N, K, KIND, B> &b, \
                               const fragment<accumulator, M, N, K, C> &c __VA_ARGS__) \
  { \
    enum { layouts = gompy_layout<A>::column * 2 + gompy_layout<B>::column }; \
    WORD left[sizeof a.x / sizeof (WORD)], right[sizeof b.x / sizeof (WORD)]; \
    CWORD add[sizeof c.x / sizeof (CWORD)]; \
    DWORD words[sizeof d.x / sizeof (DWORD)]; \
    __builtin_memcpy (left, a.x, sizeof left); \
    __builtin_memcpy (right, b.x, sizeof right); \
    __builtin_memcpy (add, c.x, sizeof add); \
    RUN (MMA) \
    __builtin_memcpy (d.x, words, sizeof words); \
  }

/* Three shapes of 16-bit floats and of bytes; A, B: how many registers of 32 bits of bfloat16 and of bytes.  */
#define GOMPY_WMMA_SHAPE(M, N, K, SHAPE, A, B, BYTES_A, BYTES_B) \
  GOMPY_WMMA_FACTOR (matrix_a, M, N, K, __half, __half, __half, 16, 1, int, __hmma_##SHAPE##_ld_a) \
  GOMPY_WMMA_FACTOR (matrix_b, M, N, K, __half, __half, __half, 16, 1, int, __hmma_##SHAPE##_ld_b) \
  GOMPY_WMMA_SUM (M, N, K, __half, 8, int, __hmma_##SHAPE##_ld_c_f16, __hmma_##SHAPE##_st_c_f16) \
  GOMPY_WMMA_SUM (M, N, K, float, 8, float, __hmma_##SHAPE##_ld_c_f32, __hmma_##SHAPE##_st_c_f32) \
  GOMPY_WMMA_STOPPED (M, N, K, __half, int, __half, int, __half, int, __hmma_##SHAPE##_mma_f16f16) \
  GOMPY_WMMA_STOPPED (M, N, K, __half, int, __half, int, float, float, __hmma_##SHAPE##_mma_f16f32) \
  GOMPY_WMMA_STOPPED (M, N, K, __half, int, float, float, __half, int, __hmma_##SHAPE##_mma_f32f16) \
  GOMPY_WMMA_STOPPED (M, N, K, __half, int, float, float, float, float, __hmma_##SHAPE##_mma_f32f32) \
  GOMPY_WMMA_FACTOR (matrix_a, M, N, K, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, 2 * A, 1, int, \
                     __mma_bf16_##SHAPE##_ld_a) \
  GOMPY_WMMA_FACTOR (matrix_b, M, N, K, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, 2 * B, 1, int, \
                     __mma_bf16_##SHAPE##_ld_b) \
  GOMPY_WMMA_PRODUCT (M, N, K, __nv_bfloat16, int, float, float, float, float, __mma_bf16_##SHAPE##_mma_f32) \
  GOMPY_WMMA_SUM (M, N, K, int, 8, int, __imma_##SHAPE##_ld_c, __imma_##SHAPE##_st_c_i32) \
  GOMPY_WMMA_BYTES (M, N, K, SHAPE, BYTES_A, BYTES_B, signed char, s8) \
  GOMPY_WMMA_BYTES (M, N, K, SHAPE, BYTES_A, BYTES_B, unsigned char, u8)
#define GOMPY_WMMA_BYTES(M, N, K, SHAPE, A, B, T, word) \
  GOMPY_WMMA_FACTOR (matrix_a, M, N, K, T, T, T, 4 * A, 1, int, __imma_##SHAPE##_ld_a_##word) \
  GOMPY_WMMA_FACTOR (matrix_b, M, N, K, T, T, T, 4 * B, 1, int, __imma_##SHAPE##_ld_b_##word) \
  GOMPY_WMMA_STOPPED (M, N, K, T, int, int, int, int, int, __imma_##SHAPE##_mma_##word)
GOMPY_WMMA_SHAPE (16, 16, 16, m16n16k16, 4, 4, 2, 2)
GOMPY_WMMA_SHAPE (8, 32, 16, m8n32k16, 2, 8, 1, 4)
GOMPY_WMMA_SHAPE (32, 8, 16, m32n8k16, 8, 2, 4, 1)

GOMPY_WMMA_FACTOR (matrix_a, 16, 16, 8, precision::tf32, float, float, 4, 1, int, __mma_tf32_m16n16k8_ld_a)
GOMPY_WMMA_FACTOR (matrix_b, 16, 16, 8, precision::tf32, float, float, 4, 1, int, __mma_tf32_m16n16k8_ld_b)
GOMPY_WMMA_SUM (16, 16, 8, float, 8, float, __mma_tf32_m16n16k8_ld_c, __mma_m16n16k8_st_c_f32)
GOMPY_WMMA_PRODUCT (16, 16, 8, precision::tf32, int, float, float, float, float, __mma_tf32_m16n16k8_mma_f32)

GOMPY_WMMA_FACTOR (matrix_a, 8, 8, 4, double, double, double, 1, 1, double, __dmma_m8n8k4_ld_a)
GOMPY_WMMA_FACTOR (matrix_b, 8, 8, 4, double, double, double, 1, 1, double, __dmma_m8n8k4_ld_b)
GOMPY_WMMA_SUM (8, 8, 4, double, 2, double, __dmma_m8n8k4_ld_c, __dmma_m8n8k4_st_c_f64)
GOMPY_WMMA_PRODUCT (8, 8, 4, double, double, double, double, double, double, __dmma_m8n8k4_mma_f64)

#define GOMPY_WMMA_NIBBLES(T, word) \
  GOMPY_WMMA_FACTOR (matrix_a, 8, 8, 32, T, void, int, 1, 8, int, __imma_m8n8k32_ld_a_##word) \
  GOMPY_WMMA_FACTOR (matrix_b, 8, 8, 32, T, void, int, 1, 8, int, __imma_m8n8k32_ld_b_##word) \
  GOMPY_WMMA_STOPPED (8, 8, 32, T, int, int, int, int, int, __imma_m8n8k32_mma_##word)
GOMPY_WMMA_SUM (8, 8, 32, int, 2, int, __imma_m8n8k32_ld_c, __imma_m8n8k32_st_c_i32)
GOMPY_WMMA_NIBBLES (experimental::precision::s4, s4)
GOMPY_WMMA_NIBBLES (experimental::precision::u4, u4)

GOMPY_WMMA_FACTOR (matrix_a, 8, 8, 128, experimental::precision::b1, void, int, 1, 32, int, __bmma_m8n8k128_ld_a_b1)
GOMPY_WMMA_FACTOR (matrix_b, 8, 8, 128, experimental::precision::b1, void, int, 1, 32, int, __bmma_m8n8k128_ld_b_b1)
GOMPY_WMMA_SUM (8, 8, 128, int, 2, int, __bmma_m8n8k128_ld_c, __bmma_m8n8k128_st_c_i32)
/* The builtin of .and asks for PTX 7.1.  */
#define GOMPY_WMMA_BITS(MMA) \
  if (by == experimental::bmmaBitOpAND) \
    asm volatile ("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%0, %1}, {%2}, {%3}, {%4, %5};" \
                  : "=r" (words[0]), "=r" (words[1]) \
                  : "r" (left[0]), "r" (right[0]), "r" (add[0]), "r" (add[1])); \
  else \
    __bmma_m8n8k128_mma_xor_popc_b1 (words, left, right, add, 1);
GOMPY_WMMA_CALL (bmma_sync, 8, 8, 128, experimental::precision::b1, int, int, int, int, int, GOMPY_WMMA_BITS, , ,
                 experimental::bmmaBitOp by = experimental::bmmaBitOpXOR,
                 experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC)
}
}
#endif

#endif
