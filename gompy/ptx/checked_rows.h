/* Checked accesses of a whole warp: what the shadow shows to be right for all of a row of lanes is done at once, the
   rest is left for check.pxi, lane by lane.  */
#ifndef GOMPY_PTX_CHECKED_ROWS_H
#define GOMPY_PTX_CHECKED_ROWS_H

#include <stddef.h>
#include <string.h>

#include "rows.h"
#include "warp.h"

/* Eight bytes of shadow (executor.h): written, and the bit of what is allocated.  */
#define GOMPY_ALL_WRITTEN 0x0303030303030303ull
#define GOMPY_ALL_ALLOCATED 0x0101010101010101ull

/* The memory of an aligned range in one space that is allocated, and written if it is not to be written now; NULL: to
   be looked at.  */
static inline __attribute__ ((always_inline)) char *
gompy_checked_range (struct gompy_warp *w, uint64_t address, uint32_t bytes, uint32_t size, int writes)
{
  uint64_t offset = address - w->base, differs = 0, allocated = GOMPY_ALL_ALLOCATED, eight;
  uint32_t done = 0;
  uint8_t *shadow;
  char *place;
  if (address & (size - 1))
    return NULL;
  if (bytes <= w->size && offset <= w->size - bytes)
    {
      shadow = w->shadow + offset;
      place = (char *) (uintptr_t) address;
    }
  else
    {
      offset = address - GOMPY_SHARED_BASE;
      if (w->shared_size < bytes || offset > w->shared_size - bytes)
        return NULL;
      shadow = w->shared_shadow + offset;
      place = w->shared + offset;
    }
  for (; done + 8 <= bytes; done += 8)
    {
      memcpy (&eight, shadow + done, 8);
      differs |= eight ^ GOMPY_ALL_WRITTEN;
      allocated &= eight;
    }
  for (; done < bytes; done++)
    {
      differs |= shadow[done] ^ 3;
      allocated &= shadow[done] | ~1ull;
    }
  if (!differs)
    return place;
  if (!writes || allocated != GOMPY_ALL_ALLOCATED)
    return NULL;
  memset (shadow, 3, bytes);
  return place;
}

static __attribute__ ((noinline)) char *
gompy_checked_row (struct gompy_warp *w, uint64_t address, uint32_t bytes, uint32_t size, int writes)
{
  return gompy_checked_range (w, address, bytes, size, writes);
}

/* Whether an address is in a space that has a shadow.  */
static inline int
gompy_has_shadow (const struct gompy_warp *w, uint64_t address)
{
  return address - w->base < w->size || address - GOMPY_SHARED_BASE < w->shared_size;
}

/* --- halves of warps ---------------------------------------------------------------------------------------------- */

/* Blocks are mostly 32, 16 or 8 threads wide, and often some threads have nothing to do: the active ones of 16 lanes
   have neighbouring words, or one.  Then masked accesses do for shadow and memory.  */
#define GOMPY_WIDE __attribute__ ((always_inline, target ("avx512f,avx512bw,avx512vl,avx512dq"))) static inline

static inline int
gompy_has_wide (void)
{
  return __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512vl")
         && __builtin_cpu_supports ("avx512dq");
}

/* 16 elements of SIZE bytes, those of LANES; others are 0.  */
GOMPY_WIDE void
gompy_half_load (__m512i *both, const char *place, uint32_t lanes, int size)
{
  if (size == 8)
    {
      both[0] = _mm512_maskz_loadu_epi64 ((__mmask8) lanes, place);
      both[1] = _mm512_maskz_loadu_epi64 ((__mmask8) (lanes >> 8), place + 64);
    }
  else if (size == 4)
    both[0] = _mm512_maskz_loadu_epi32 ((__mmask16) lanes, place);
  else if (size == 2)
    both[0] = _mm512_castsi256_si512 (_mm256_maskz_loadu_epi16 ((__mmask16) lanes, place));
  else
    both[0] = _mm512_castsi128_si512 (_mm_maskz_loadu_epi8 ((__mmask16) lanes, place));
}

GOMPY_WIDE void
gompy_half_store (char *place, const __m512i *both, uint32_t lanes, int size)
{
  if (size == 8)
    {
      _mm512_mask_storeu_epi64 (place, (__mmask8) lanes, both[0]);
      _mm512_mask_storeu_epi64 (place + 64, (__mmask8) (lanes >> 8), both[1]);
    }
  else if (size == 4)
    _mm512_mask_storeu_epi32 (place, (__mmask16) lanes, both[0]);
  else if (size == 2)
    _mm256_mask_storeu_epi16 (place, (__mmask16) lanes, _mm512_castsi512_si256 (both[0]));
  else
    _mm_mask_storeu_epi8 (place, (__mmask16) lanes, _mm512_castsi512_si128 (both[0]));
}

/* Those of LANES whose bytes are not all VALUE, of the bits in MASK.  */
GOMPY_WIDE uint32_t
gompy_half_differs (const __m512i *both, uint32_t lanes, int size, int mask, int value)
{
  __m512i m = _mm512_set1_epi8 ((char) mask), v = _mm512_set1_epi8 ((char) value), a = _mm512_and_si512 (both[0], m);
  if (size == 8)
    return _mm512_mask_cmpneq_epi64_mask ((__mmask8) lanes, a, v)
           | (uint32_t) _mm512_mask_cmpneq_epi64_mask ((__mmask8) (lanes >> 8), _mm512_and_si512 (both[1], m), v) << 8;
  if (size == 4)
    return _mm512_mask_cmpneq_epi32_mask ((__mmask16) lanes, a, v);
  if (size == 2)
    return _mm512_mask_cmpneq_epi16_mask (lanes, a, v);
  return (uint32_t) _mm512_mask_cmpneq_epi8_mask (lanes, a, v);
}

/* A load or a store (WRITES) of 16 lanes: 0, or those that are left.  */
GOMPY_WIDE uint32_t
gompy_half_access (struct gompy_warp *w, uint32_t lanes, const uint64_t *a, char *values, int size, int writes)
{
  int first = __builtin_ctz (lanes), last = 31 - __builtin_clz (lanes);
  uint64_t start = a[first], offset;
  __m512i low = _mm512_loadu_si512 (a), high = _mm512_loadu_si512 (a + 8), both[2];
  __m512i iota = _mm512_set_epi64 (7, 6, 5, 4, 3, 2, 1, 0), begin = _mm512_set1_epi64 ((long long) start);
  __m512i low_away = _mm512_sub_epi64 (low, begin), high_away = _mm512_sub_epi64 (high, begin);
  __m512i step = _mm512_mullo_epi64 (_mm512_sub_epi64 (iota, _mm512_set1_epi64 (first)), _mm512_set1_epi64 (size));
  uint32_t others = _mm512_cmpneq_epi64_mask (low_away, step)
                    | (uint32_t) _mm512_cmpneq_epi64_mask (
                        high_away, _mm512_add_epi64 (step, _mm512_set1_epi64 (8 * size))) << 8;
  int row = !(others & lanes);
  uint8_t *shadow;
  char *place;
  if (start & (uint32_t) (size - 1))
    return lanes;
  if (!row)
    {
      others = _mm512_test_epi64_mask (low_away, low_away);
      others |= (uint32_t) _mm512_test_epi64_mask (high_away, high_away) << 8;
      if (writes || others & lanes)
        return lanes;
      last = first;
    }
  offset = start - w->base;
  if (offset < w->size)
    {
      if (w->size - offset < (uint32_t) (16 * size))
        return lanes;
      shadow = w->shadow + offset;
      place = (char *) (uintptr_t) start;
    }
  else
    {
      offset = start - GOMPY_SHARED_BASE;
      if (offset >= w->shared_size || w->shared_size - offset < (uint32_t) ((last - first + 1) * size))
        return lanes;
      shadow = w->shared_shadow + offset;
      place = w->shared + offset;
    }
  if (!row)
    {
      uint64_t its = 0, value = 0;
      memcpy (&its, shadow, (size_t) size);
      if (its != (GOMPY_ALL_WRITTEN >> (64 - 8 * size)))
        return lanes;
      memcpy (&value, place, (size_t) size);
      both[0] = both[1] = size == 8   ? _mm512_set1_epi64 ((long long) value)
                          : size == 4 ? _mm512_set1_epi32 ((int) value)
                          : size == 2 ? _mm512_set1_epi16 ((short) value)
                                      : _mm512_set1_epi8 ((char) value);
      gompy_half_store (values, both, lanes, size);
      return 0;
    }
  shadow -= first * size;
  place -= first * size;
  gompy_half_load (both, (const char *) shadow, lanes, size);
  if (gompy_half_differs (both, lanes, size, -1, 3))
    {
      if (!writes || gompy_half_differs (both, lanes, size, 1, 1))
        return lanes;
      both[0] = both[1] = _mm512_set1_epi8 (3);
      gompy_half_store ((char *) shadow, both, lanes, size);
    }
  gompy_half_load (both, writes ? values : place, lanes, size);
  gompy_half_store (writes ? place : values, both, lanes, size);
  return 0;
}

#define GOMPY_CHECKED_WIDE(BITS)                                                                                       \
  static __attribute__ ((noinline, target ("avx512f,avx512bw,avx512vl,avx512dq"))) uint32_t                            \
  gompy_checked_wide##BITS (struct gompy_warp *w, uint32_t mask, const uint64_t *a, uint##BITS##_t *values,            \
                            int writes)                                                                                \
  {                                                                                                                    \
    uint32_t left = 0, lanes;                                                                                          \
    if ((lanes = mask & 0xffff))                                                                                       \
      left = gompy_half_access (w, lanes, a, (char *) values, BITS / 8, writes);                                       \
    if ((lanes = mask >> 16))                                                                                          \
      left |= gompy_half_access (w, lanes, a + 16, (char *) (values + 16), BITS / 8, writes) << 16;                    \
    return left;                                                                                                       \
  }

GOMPY_CHECKED_WIDE (8)
GOMPY_CHECKED_WIDE (16)
GOMPY_CHECKED_WIDE (32)
GOMPY_CHECKED_WIDE (64)

/* A load and a store of lanes; those that are left.  */
#define GOMPY_CHECKED_ROWS(BITS)                                                                                       \
  static uint32_t gompy_checked_load##BITS (struct gompy_warp *w, uint32_t mask,                                       \
          const uint64_t *a, uint##BITS##_t *out)                                                                      \
  {                                                                                                                    \
    uint32_t rest, left = 0, length;                                                                                   \
    if (gompy_has_wide () && !(mask = gompy_checked_wide##BITS (w, mask, a, out, 0)))                                  \
      return 0;                                                                                                        \
    if (!mask || !gompy_has_shadow (w, a[__builtin_ctz (mask)]))                                                       \
      return mask;                                                                                                     \
    rest = mask;                                                                                                       \
    struct gompy_rows rows = gompy_rows_of (a, BITS / 8);                                                              \
    while (rest)                                                                                                       \
      {                                                                                                                \
        int lane = __builtin_ctz (rest), repeats = 0;                                                                  \
        if ((length = gompy_row_length (rows.follows & mask, lane)) == 1)                                              \
          repeats = (length = gompy_row_length (rows.same & mask, lane)) > 1;                                          \
        uint32_t its = (length == 32 ? ~0u : (1u << length) - 1) << lane;                                              \
        char *place = length == 1 || repeats ? gompy_checked_range (w, a[lane], BITS / 8, BITS / 8, 0)                 \
                                             : gompy_checked_row (w, a[lane], length * (BITS / 8), BITS / 8, 0);       \
        rest &= ~its;                                                                                                  \
        if (!place)                                                                                                    \
          left |= its;                                                                                                 \
        else if (length == 1)                                                                                          \
          memcpy (out + lane, place, BITS / 8);                                                                        \
        else if (repeats)                                                                                              \
          {                                                                                                            \
            uint##BITS##_t value;                                                                                      \
            memcpy (&value, place, BITS / 8);                                                                          \
            for (uint32_t i = 0; i < length; i++)                                                                      \
              out[(uint32_t) lane + i] = value;                                                                        \
          }                                                                                                            \
        else                                                                                                           \
          memcpy (out + lane, place, length * (BITS / 8));                                                             \
      }                                                                                                                \
    return left;                                                                                                       \
  }                                                                                                                    \
  static uint32_t gompy_checked_store##BITS (struct gompy_warp *w, uint32_t mask, const uint64_t *a,                   \
          const uint##BITS##_t *v)                                                                                     \
  {                                                                                                                    \
    uint32_t rest, left = 0;                                                                                           \
    if (gompy_has_wide () && !(mask = gompy_checked_wide##BITS (w, mask, a, (uint##BITS##_t *) (uintptr_t) v, 1)))     \
      return 0;                                                                                                        \
    if (!mask || !gompy_has_shadow (w, a[__builtin_ctz (mask)]))                                                       \
      return mask;                                                                                                     \
    rest = mask;                                                                                                       \
    struct gompy_rows rows = gompy_rows_of (a, BITS / 8);                                                              \
    while (rest)                                                                                                       \
      {                                                                                                                \
        int lane = __builtin_ctz (rest);                                                                               \
        uint32_t length = gompy_row_length (rows.follows & mask, lane);                                                \
        uint32_t its = (length == 32 ? ~0u : (1u << length) - 1) << lane;                                              \
        char *place = length == 1 ? gompy_checked_range (w, a[lane], BITS / 8, BITS / 8, 1)                            \
                                  : gompy_checked_row (w, a[lane], length * (BITS / 8), BITS / 8, 1);                  \
        rest &= ~its;                                                                                                  \
        if (!place)                                                                                                    \
          left |= its;                                                                                                 \
        else if (length == 1)                                                                                          \
          memcpy (place, v + lane, BITS / 8);                                                                          \
        else                                                                                                           \
          memcpy (place, v + lane, length * (BITS / 8));                                                               \
      }                                                                                                                \
    return left;                                                                                                       \
  }

GOMPY_CHECKED_ROWS (8)
GOMPY_CHECKED_ROWS (16)
GOMPY_CHECKED_ROWS (32)
GOMPY_CHECKED_ROWS (64)

#endif
