/* Lanes whose addresses go on where the lane before ends, or repeat it: accesses of a warp are mostly such
   rows.  */
#ifndef GOMPY_PTX_ROWS_H
#define GOMPY_PTX_ROWS_H

#include <immintrin.h>
#include <stdint.h>

/* A bit for each lane but the first: its address is SIZE behind that of the lane before, or the same.  */
struct gompy_rows { uint32_t follows, same; };

static inline struct gompy_rows
gompy_rows_usual (const uint64_t *a, uint32_t size)
{
  struct gompy_rows rows = { 0, 0 };
  for (int i = 1; i < 32; i++)
    {
      rows.follows |= (uint32_t) (a[i] == a[i - 1] + size) << i;
      rows.same |= (uint32_t) (a[i] == a[i - 1]) << i;
    }
  return rows;
}

static __attribute__ ((noinline, optimize ("unroll-loops"), target ("avx2"))) struct gompy_rows
gompy_rows_avx2 (const uint64_t *a, uint32_t size)
{
  struct gompy_rows rows = { 0, 0 };
  __m256i by = _mm256_set1_epi64x (size), after = _mm256_loadu_si256 ((const __m256i *) a), here;
  for (int i = 0; i < 32; i += 4)
    {
      here = after;
      if (i < 28)
        after = _mm256_loadu_si256 ((const __m256i *) (a + i + 4));
      /* Not a load from a + i + 1: that would wait for two stores that have just been made.  */
      __m256i next = _mm256_permute4x64_epi64 (_mm256_blend_epi32 (here, after, 3), 0x39);
      __m256i follows = _mm256_cmpeq_epi64 (next, _mm256_add_epi64 (here, by));
      __m256i same = _mm256_cmpeq_epi64 (next, here);
      rows.follows |= (uint32_t) _mm256_movemask_pd (_mm256_castsi256_pd (follows)) << i;
      rows.same |= (uint32_t) _mm256_movemask_pd (_mm256_castsi256_pd (same)) << i;
    }
  rows.follows <<= 1;
  rows.same <<= 1;
  return rows;
}

static __attribute__ ((noinline, target ("avx512f"))) struct gompy_rows
gompy_rows_avx512 (const uint64_t *a, uint32_t size)
{
  struct gompy_rows rows = { 0, 0 };
  __m512i by = _mm512_set1_epi64 (size), after = _mm512_loadu_si512 (a), here;
#pragma GCC unroll 4
  for (int i = 0; i < 32; i += 8)
    {
      here = after;
      if (i < 24)
        after = _mm512_loadu_si512 (a + i + 8);
      __m512i next = _mm512_alignr_epi64 (after, here, 1);
      rows.follows |= (uint32_t) _mm512_cmpeq_epi64_mask (next, _mm512_add_epi64 (here, by)) << i;
      rows.same |= (uint32_t) _mm512_cmpeq_epi64_mask (next, here) << i;
    }
  rows.follows <<= 1;
  rows.same <<= 1;
  return rows;
}

/* Those of a warp's addresses.  What stands for lanes that are not in the mask is to be left out of it.  */
static inline struct gompy_rows
gompy_rows_of (const uint64_t *a, uint32_t size)
{
  if (__builtin_cpu_supports ("avx512f"))
    return gompy_rows_avx512 (a, size);
  return __builtin_cpu_supports ("avx2") ? gompy_rows_avx2 (a, size) : gompy_rows_usual (a, size);
}

/* How many lanes from LANE on have their bits, LANE's own taken for set.  */
static inline uint32_t
gompy_row_length (uint32_t bits, int lane)
{
  return 1 + (uint32_t) __builtin_ctz (~(bits >> lane >> 1));
}

#endif
