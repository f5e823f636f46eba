/* `race_row` of compiled code: what race_soon.c leaves of it, and else op_race_row (race_calls.pxi).  */
#ifndef GOMPY_PTX_RACE_TOLD_H
#define GOMPY_PTX_RACE_TOLD_H

#include "race_later.h"

int gompy_race_row_soon (struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word,
                         void *unit, uint32_t line);
int gompy_race_shared_soon (struct gompy_warp *w, uint32_t mask, uint64_t first, uint32_t word, void *unit,
                            uint32_t line);

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

static void
gompy_told_row (struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word, void *unit,
                uint32_t line)
{
  struct gompy_races *r = w->races;
  struct gompy_later *later = gompy_race_row_room (w, mask, first, second, word);
  if (later && __builtin_cpu_supports ("avx512f")
      && gompy_race_row_words (r, mask, gompy_shared_word (first), w->warpid, word))
    gompy_race_row_wait (w, later, mask, first, word, unit, line);
  else
    r->row (w, mask, first, second, word, unit, line);
}

#endif
