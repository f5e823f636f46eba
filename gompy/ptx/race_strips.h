/* Marks of shared memory for 32 words at a time (race_marks.h has those of each word).  What a warp's row touches, each
   lane its word, takes four numbers for all of them.  As long as only rows are told between two barriers of all, and of
   a strip one warp's lanes have their words and other warps read at most, nothing else is kept.  The first access that
   is otherwise has the marks of all words made of it, and those are kept as far as the barrier.  */
#ifndef GOMPY_PTX_RACE_STRIPS_H
#define GOMPY_PTX_RACE_STRIPS_H

#include "race_marks.h"

enum { GOMPY_STRIPS_REST = 32 }; /* barriers until strips are tried again */

/* Whether words of a strip may be touched so by the threads of MINE, which are the same for all words (gompy_mark_of,
   with the lane of the strip's first word): then they are.  What warps other than the owner read is theirs together:
   a word's mark would be more exact, so 0 means no more than that the words' marks are to be asked.  */
static inline int
gompy_strip_touch (struct gompy_strip *strip, uint32_t mine, uint32_t words, int writes)
{
  uint32_t differs = strip->owner ^ mine, written = writes ? words : 0u;
  if (differs >= GOMPY_STAMP)
    *strip = (struct gompy_strip) { mine, words, written, 0, 0 };
  else if (!differs && !(written & (strip->wide | strip->others)))
    {
      strip->own |= words;
      strip->written |= written;
    }
  else if (writes || words & strip->written)
    return 0;
  else if (differs & GOMPY_MARK_WARP & ~(uint32_t) GOMPY_MARK_STEP)
    strip->others |= words;
  else if (differs <= GOMPY_MARK_LANE)
    strip->wide |= words;
  else
    return 0;
  return 1;
}

/* The same of a warp's row of words from WORD on, lane 0's, be it before the first one.  After a 0 some of it may have
   been done.  */
static inline int
gompy_strips_row (struct gompy_races *r, int32_t word, uint32_t mask, uint32_t warp, int in_step, int writes)
{
  uint32_t step, mine = gompy_mark_of (r, warp, in_step, &step), at = (uint32_t) word % GOMPY_STRIP;
  struct gompy_strip *strip = r->strips + (word - (int32_t) at) / GOMPY_STRIP;
  uint32_t behind = at ? mask >> (GOMPY_STRIP - at) : 0u;
  mine += (-at & GOMPY_MARK_LANE) * step;
  return (!(mask << at) || gompy_strip_touch (strip, mine, mask << at, writes))
         && (!behind || gompy_strip_touch (strip + 1, mine, behind, writes));
}

/* From here to the next barrier of all each word has its mark.  */
static __attribute__ ((noinline)) void
gompy_strips_end (struct gompy_races *r)
{
  for (uint32_t first = 0; first < r->nmarks; first += GOMPY_STRIP)
    {
      const struct gompy_strip *strip = r->strips + first / GOMPY_STRIP;
      uint32_t step = !(strip->owner & GOMPY_MARK_STEP);
      if ((strip->owner ^ r->stamp) >= GOMPY_STAMP)
        continue;
      for (uint32_t left = strip->own | strip->wide | strip->others; left; left &= left - 1)
        {
          uint32_t bit = left & -left, word = (uint32_t) __builtin_ctz (left);
          r->marks[first + word] = (strip->owner & ~(uint32_t) GOMPY_MARK_LANE)
                                   | ((strip->owner + word * step) & GOMPY_MARK_LANE)
                                   | (strip->written & bit ? GOMPY_MARK_WRITTEN : 0u)
                                   | (strip->wide & bit ? GOMPY_MARK_WIDE : 0u)
                                   | (strip->others & bit ? GOMPY_MARK_MANY : 0u);
        }
    }
  r->by_strips = 0;
  r->strips_rest = GOMPY_STRIPS_REST;
}

#endif
