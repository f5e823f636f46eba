/* Which thread has touched each word of shared memory since the last barrier of all (races.h).  Where no word has two,
   or nobody writes it, or a bar.warp.sync is between the lanes of one warp, nothing can be a race.  */
#ifndef GOMPY_PTX_RACE_MARKS_H
#define GOMPY_PTX_RACE_MARKS_H

#include <immintrin.h>

#include "races.h"

/* A word's mark.  Bits 0-4 the lane, 0 where lanes go in step (GOMPY_MARK_STEP), 5-9 the warp, 15-21 how many syncs of
   its lanes the warp had behind it (the last bits of that), 22-31 since which barrier, GOMPY_STAMP a step.  */
enum
{
  GOMPY_MARK_LANE = 31,
  GOMPY_MARK_STEP = 1 << 10,
  GOMPY_MARK_WARP = 31 << 5 | GOMPY_MARK_STEP,
  GOMPY_MARK_WIDE = 1 << 11,            /* several lanes since the last sync */
  GOMPY_MARK_MANY = 1 << 12,            /* several warps */
  GOMPY_MARK_WRITTEN = 1 << 13,         /* since the last sync; before it: */
  GOMPY_MARK_EARLIER = 1 << 14,
  GOMPY_MARK_SYNC = 127 << 15
};

/* The mark of a warp's lane 0, of whom the others' follow by STEP.  */
static inline uint32_t
gompy_mark_of (const struct gompy_races *r, uint32_t warp, int in_step, uint32_t *step)
{
  *step = !in_step;
  return r->stamp | r->syncs[warp] | warp << 5 | (in_step ? GOMPY_MARK_STEP : 0u);
}

/* Whether a word may be touched so, and its new mark.  MINE: the thread's, with GOMPY_MARK_WIDE for several lanes.  */
static inline int
gompy_mark (uint32_t *mark, uint32_t mine, int writes)
{
  uint32_t old = *mark, differs = old ^ mine, now = writes ? GOMPY_MARK_WRITTEN : 0u;
  uint32_t written = old & (GOMPY_MARK_WRITTEN | GOMPY_MARK_EARLIER);
  if (differs >= GOMPY_STAMP)
    *mark = mine | now;
  else if (differs & GOMPY_MARK_WARP || old & GOMPY_MARK_MANY)
    {
      if (writes || written)
        return 0;
      *mark = old | GOMPY_MARK_MANY;
    }
  else if (differs & GOMPY_MARK_SYNC)
    *mark = mine | now | (written ? GOMPY_MARK_EARLIER : 0u);
  else if (!(differs & GOMPY_MARK_LANE) && !((old | mine) & GOMPY_MARK_WIDE))
    *mark = old | now;
  else if (writes || old & GOMPY_MARK_WRITTEN)
    return 0;
  else
    *mark = old | GOMPY_MARK_WIDE;
  return 1;
}

static int
gompy_mark_row_usual (uint32_t *marks, uint32_t mask, uint32_t shift, uint32_t mine, uint32_t step, int writes)
{
  int right = 1;
  for (; mask; mask &= mask - 1)
    for (uint32_t lane = (uint32_t) __builtin_ctz (mask), i = 0; i < 1u << shift; i++)
      right &= gompy_mark (marks + ((int32_t) (lane << shift) + (int32_t) i), mine + lane * step, writes);
  return right;
}

/* gompy_mark of 16 words, each of one lane, of those in IN.  Whether all of them are right.  */
static inline __attribute__ ((always_inline, target ("avx512f"))) int
gompy_mark_words (__m512i *mark, __mmask16 in, __m512i mine, int writes)
{
  __m512i old = *mark, differs = _mm512_xor_si512 (old, mine), now = _mm512_set1_epi32 (GOMPY_MARK_WRITTEN);
  __m512i earlier = _mm512_set1_epi32 (GOMPY_MARK_EARLIER);
  __mmask16 fresh = _mm512_cmpge_epu32_mask (differs, _mm512_set1_epi32 (GOMPY_STAMP));
  if (!_mm512_mask_test_epi32_mask ((__mmask16) (in & ~fresh), differs, _mm512_set1_epi32 (~GOMPY_MARK_WRITTEN)))
    { /* as a rule each lane is the first, or alone */
      *mark = writes ? _mm512_or_si512 (mine, now) : _mm512_mask_mov_epi32 (old, fresh, mine);
      return 1;
    }
  __mmask16 others = _mm512_mask_test_epi32_mask ((__mmask16) ~fresh, differs,
                                                  _mm512_set1_epi32 (GOMPY_MARK_WARP | GOMPY_MARK_MANY));
  __mmask16 own = (__mmask16) ~(fresh | others);
  __mmask16 synced = _mm512_mask_test_epi32_mask (own, differs, _mm512_set1_epi32 (GOMPY_MARK_SYNC));
  __mmask16 lanes = _mm512_mask_test_epi32_mask ((__mmask16) (own & ~synced), differs,
                                                 _mm512_set1_epi32 (GOMPY_MARK_LANE | GOMPY_MARK_WIDE));
  __mmask16 written = _mm512_mask_test_epi32_mask ((__mmask16) ~fresh, old, _mm512_or_si512 (now, earlier));
  if (writes)
    {
      __mmask16 before = (__mmask16) ((written & synced) | _mm512_mask_test_epi32_mask (own, old, earlier));
      *mark = _mm512_mask_or_epi32 (_mm512_or_si512 (mine, now), before, _mm512_or_si512 (mine, now), earlier);
      return (__mmask16) (in & (others | lanes)) == 0;
    }
  __mmask16 bad = (__mmask16) ((others & written) | _mm512_mask_test_epi32_mask (lanes, old, now));
  *mark = _mm512_mask_mov_epi32 (old, (__mmask16) (fresh | synced), mine);
  *mark = _mm512_mask_or_epi32 (*mark, (__mmask16) (synced & written), *mark, earlier);
  *mark = _mm512_mask_or_epi32 (*mark, others, *mark, _mm512_set1_epi32 (GOMPY_MARK_MANY));
  *mark = _mm512_mask_or_epi32 (*mark, lanes, *mark, _mm512_set1_epi32 (GOMPY_MARK_WIDE));
  return (__mmask16) (in & bad) == 0;
}

static __attribute__ ((noinline, target ("avx512f,bmi2"))) int
gompy_mark_row_avx512 (uint32_t *marks, uint32_t mask, uint32_t shift, uint32_t mine, uint32_t step, int writes)
{
  static const uint32_t every[3] = { 0xffff, 0x5555, 0x1111 };
  __m512i iota = _mm512_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i first = _mm512_set1_epi32 ((int) mine), by = _mm512_set1_epi32 ((int) step);
  int right = 1;
  for (uint32_t lane = 0; mask; lane += 16u >> shift, marks += 16)
    {
      __mmask16 in = (__mmask16) (_pdep_u32 (mask, every[shift]) * ((1u << (1u << shift)) - 1));
      __m512i lanes = _mm512_add_epi32 (_mm512_srl_epi32 (iota, _mm_cvtsi32_si128 ((int) shift)),
                                        _mm512_set1_epi32 ((int) lane));
      __m512i mark = _mm512_maskz_loadu_epi32 (in, marks);
      right &= gompy_mark_words (&mark, in, _mm512_add_epi32 (first, _mm512_mullo_epi32 (lanes, by)), writes);
      _mm512_mask_storeu_epi32 (marks, in, mark);
      mask = shift == 0 ? mask >> 16 : shift == 1 ? mask >> 8 : mask >> 4;
    }
  return right;
}

/* A row of the active lanes' words, 1 << SHIFT each, that begins at lane 0's.  Whether they may be touched so.  */
static inline int
gompy_mark_row (struct gompy_races *r, int64_t word, uint32_t mask, uint32_t shift, uint32_t mine, uint32_t step,
                int writes)
{
  return (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("bmi2")
            ? gompy_mark_row_avx512 : gompy_mark_row_usual) (r->marks + word, mask, shift, mine, step, writes);
}

/* Words anywhere, of the same lanes.  All are looked at before any is set.  Of what several lanes touch nobody knows
   who was the last.  */
static int
gompy_mark_lanes_usual (struct gompy_races *r, const uint64_t *a, uint32_t mask, uint32_t size, uint32_t mine,
                        uint32_t step, int writes)
{
  uint32_t count = (size + 3) / 4, at, new, rest;
  int right = 1;
  for (rest = mask; rest; rest &= rest - 1)
    for (uint32_t i = 0, lane = (uint32_t) __builtin_ctz (rest); i < count; i++)
      {
        at = (uint32_t) (a[lane] - GOMPY_SHARED_BASE) / 4 + i;
        new = r->marks[at];
        right &= gompy_mark (&new, mine + lane * step, writes);
      }
  if (!right)
    return 0;
  for (rest = mask; rest; rest &= rest - 1)
    for (uint32_t i = 0, lane = (uint32_t) __builtin_ctz (rest); i < count; i++)
      {
        at = (uint32_t) (a[lane] - GOMPY_SHARED_BASE) / 4 + i;
        if (!gompy_mark (&r->marks[at], mine + lane * step, writes) || (size < 4 && step))
          r->marks[at] |= (uint32_t) GOMPY_MARK_WIDE | (writes ? GOMPY_MARK_WRITTEN : 0u);
      }
  return 1;
}

static __attribute__ ((noinline, target ("avx512f"))) int
gompy_mark_lanes_avx512 (struct gompy_races *r, const uint64_t *a, uint32_t mask, uint32_t size, uint32_t mine,
                         uint32_t step, int writes)
{
  __m512i iota = _mm512_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i first = _mm512_set1_epi32 ((int) mine), by = _mm512_set1_epi32 ((int) step), at[2], mark[2];
  __m512i base = _mm512_set1_epi64 ((long long) GOMPY_SHARED_BASE);
  __m512i several = _mm512_set1_epi32 (GOMPY_MARK_WIDE | (writes ? GOMPY_MARK_WRITTEN : 0));
  int right = 1;
  for (int half = 0; half < 2; half++)
    {
      __m256i low = _mm512_cvtepi64_epi32 (
        _mm512_srli_epi64 (_mm512_sub_epi64 (_mm512_loadu_si512 (a + 16 * half), base), 2));
      __m256i high = _mm512_cvtepi64_epi32 (
        _mm512_srli_epi64 (_mm512_sub_epi64 (_mm512_loadu_si512 (a + 16 * half + 8), base), 2));
      at[half] = _mm512_inserti64x4 (_mm512_castsi256_si512 (low), high, 1);
    }
  for (uint32_t i = 0; i < size / 4 && right; i++)
    {
      uint32_t *marks = r->marks + i;
      for (int half = 0; half < 2; half++)
        {
          __mmask16 in = (__mmask16) (mask >> 16 * half);
          __m512i lanes = _mm512_add_epi32 (iota, _mm512_set1_epi32 (16 * half));
          mark[half] = _mm512_mask_i32gather_epi32 (_mm512_setzero_si512 (), in, at[half], marks, 4);
          right &= gompy_mark_words (&mark[half], in, _mm512_add_epi32 (first, _mm512_mullo_epi32 (lanes, by)), writes);
        }
      for (int half = 0; half < 2; half++)
        _mm512_mask_i32scatter_epi32 (marks, (__mmask16) (mask >> 16 * half), at[half], mark[half], 4);
      for (int half = 0; half < 2; half++)
        {
          __mmask16 in = (__mmask16) (mask >> 16 * half);
          __m512i now = _mm512_mask_i32gather_epi32 (mark[half], in, at[half], marks, 4);
          __mmask16 lost = _mm512_mask_cmpneq_epi32_mask (in, now, mark[half]);
          if (lost)
            _mm512_mask_i32scatter_epi32 (marks, lost, at[half], _mm512_or_si512 (now, several), 4);
        }
    }
  return right;
}

static inline int
gompy_mark_lanes (struct gompy_races *r, const uint64_t *a, uint32_t mask, uint32_t size, uint32_t mine, uint32_t step,
                  int writes)
{
  return (size >= 4 && __builtin_cpu_supports ("avx512f") ? gompy_mark_lanes_avx512 : gompy_mark_lanes_usual) (
    r, a, mask, size, mine, step, writes);
}

#endif
