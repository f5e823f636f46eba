/* `race_row` of compiled code: what it does as a rule, and else op_race_row (race_calls.pxi).  */
#ifndef GOMPY_PTX_RACE_TOLD_H
#define GOMPY_PTX_RACE_TOLD_H

#include "race_later.h"
#include "warp.h"

/* Room for a row of words of 32 bits that is put off, lane 0's at FIRST, be it there or before; NULL: that is for op_race_row.  */
static inline struct gompy_later *
gompy_race_row_room (const struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word)
{
  const struct gompy_races *r = w->races;
  uint64_t low = first + 4 * (uint32_t) __builtin_ctz (mask) - GOMPY_SHARED_BASE;
  uint64_t end = first + 4 * (32 - (uint32_t) __builtin_clz (mask)) - GOMPY_SHARED_BASE;
  if ((word & (0xff | GOMPY_RACE_GLOBAL | GOMPY_RACE_STRAYS)) != 4 || first % 4
      || second - first != 4 * GOMPY_LANES / 2 || low >= w->shared_size || end > w->shared_size || !r->puts_off
      || r->nflags || !r->later || r->nlater == GOMPY_LATER)
    return NULL;
  return r->later + r->nlater;
}

/* Whether the marks of its words let it be put off.  */
static __attribute__ ((noinline, target ("avx512f"))) int
gompy_race_row_words (struct gompy_races *r, uint32_t mask, int32_t first, uint32_t warp, uint32_t word)
{
  int32_t stamp = (int32_t) (r->stamp | r->syncs[warp] | warp << 5);
  __m512i mine = _mm512_set1_epi32 (stamp | GOMPY_MARK_STEP), lanes = mine;
  if (r->by_strips)
    gompy_strips_end (r);
  if (!(word & GOMPY_RACE_IN_STEP))
    {
      mine = _mm512_add_epi32 (_mm512_set1_epi32 (stamp),
                               _mm512_setr_epi32 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
      lanes = _mm512_add_epi32 (mine, _mm512_set1_epi32 (16));
    }
  uint32_t *marks = r->marks + first;
  int writes = (word & GOMPY_RACE_WRITES) != 0;
  __m512i low = _mm512_maskz_loadu_epi32 ((__mmask16) mask, marks);
  __m512i high = _mm512_maskz_loadu_epi32 ((__mmask16) (mask >> 16), marks + 16);
  if (!gompy_mark_words (&low, (__mmask16) mask, mine, writes)
      || !gompy_mark_words (&high, (__mmask16) (mask >> 16), lanes, writes))
    return 0;
  if (mask == ~0u)
    { /* what reads them next need not wait as it would for a store of some */
      _mm512_storeu_si512 (marks, low);
      _mm512_storeu_si512 (marks + 16, high);
    }
  else
    {
      _mm512_mask_storeu_epi32 (marks, (__mmask16) mask, low);
      _mm512_mask_storeu_epi32 (marks + 16, (__mmask16) (mask >> 16), high);
    }
  return 1;
}

/* Whether a row of words is read again in a quiet block, which tells nothing more (gompy_row_quiet).  */
static inline int
gompy_race_row_again (const struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word)
{
  const struct gompy_races *r = w->races;
  uint32_t size = word & 0xff;
  if (!r->nquiet || word & (GOMPY_RACE_WRITES | GOMPY_RACE_STRAYS) || second - first != size * (GOMPY_LANES / 2)
      || gompy_race_quiet_since (r, mask, first, size) == INT32_MAX)
    return 0;
  uint64_t at = (first + (uint32_t) __builtin_ctz (mask) * size - r->base) / 4;
  uint64_t end = (first + (32 - (uint32_t) __builtin_clz (mask)) * size + 3 - r->base) / 4;
  for (uint64_t some; at < end; at += some)
    {
      some = GOMPY_LINE - at % GOMPY_LINE < end - at ? GOMPY_LINE - at % GOMPY_LINE : end - at;
      if (gompy_line_unread (&r->memory.lines[at / GOMPY_LINE], r->own_first,
                             (uint32_t) ((1ull << some) - 1) << at % GOMPY_LINE))
        return 0;
    }
  return 1;
}

/* `race_row` of compiled code.  */
static void
gompy_told_row (struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word, void *unit,
                uint32_t line)
{
  struct gompy_races *r = w->races;
  struct gompy_later *later = gompy_race_row_room (w, mask, first, second, word);
  uint32_t warp = w->warpid, writes = (word & GOMPY_RACE_WRITES) != 0;
  int32_t at = (int32_t) ((int64_t) (first - GOMPY_SHARED_BASE) >> 2);
  if (!later)
    {
      if (!gompy_race_row_again (w, mask, first, second, word))
        r->row (w, mask, first, second, word, unit, line);
      return;
    }
  if (!(r->by_strips && gompy_strips_row (r, at, mask, warp, (word & GOMPY_RACE_IN_STEP) != 0, (int) writes))
      && !(__builtin_cpu_supports ("avx512f") && gompy_race_row_words (r, mask, at, warp, word)))
    {
      r->row (w, mask, first, second, word, unit, line);
      return;
    }
  later->access.own = r->knows[warp].of[warp]; /* the rest is the same later (look_at_later) */
  later->access.who = warp << 6;
  later->access.writes = (int) writes;
  later->mask = mask;
  later->its = later->lanes = 0;
  later->first = first;
  later->unit = unit;
  later->line = line;
  r->nlater++;
}

#endif
