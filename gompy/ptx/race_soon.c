/* `race_row_soon` and `race_shared_soon` of compiled code: accesses of neighbouring words by neighbouring lanes that
   are soon done.

   They keep all registers, so code that holds vectors need not put them aside around the call: they are compiled
   without any but the general ones, with all that they call (setup.py).  What they leave is for race_row (race_told.h),
   whatever has been done of it: an access is remembered once if it is told twice.  */
#include "race_soon.h"

/* Of device memory: each line's words are soon remembered (gompy_line_quick).  */
static int
gompy_race_row_device (struct gompy_warp *w, uint32_t mask, uint64_t first, uint32_t word, void *unit, uint32_t line)
{
  struct gompy_races *r = w->races;
  uint32_t size = word & 0xff, lane = (uint32_t) __builtin_ctz (mask);
  uint32_t lanes = 32 - (uint32_t) __builtin_clz (mask) - lane; /* from the first to the last */
  uint32_t shift = (uint32_t) __builtin_ctz (size) - 2, count = lanes << shift;
  uint64_t offset = first + lane * size - r->base;
  const struct gompy_race_site *site = &r->sites[*gompy_race_recent (r, unit, line)];
  if (r->nnoted || r->nflags || r->unsettled || r->watched || word & GOMPY_RACE_STRAYS || lanes < 2
      || mask >> lane != ~0u >> (GOMPY_LANES - lanes) || offset % size || offset >= r->size
      || offset + lanes * size > r->size || site->unit != unit || site->line != line || site->library)
    return 0;
  struct gompy_access access = gompy_race_access (r, w->warpid, size, (uint32_t) (site - r->sites) << 16,
                                                  (word & GOMPY_RACE_WRITES) != 0, site->ways);
  if (r->nquiet && !access.writes)
    access.quiet_since = gompy_race_quiet_since (r, mask, first, size);
  for (uint32_t done = 0, some; done < count; done += some)
    {
      struct gompy_row_part part = gompy_row_part (&access, &r->memory, offset / 4, count, done, (int) lane,
                                                   (int) shift);
      some = part.some;
      if (!gompy_line_quick (r, &access, part.line, part.words, part.who))
        return 0;
      if (access.quiet_since != INT32_MAX)
        gompy_read_note (r, offset / 4 + done, part.words);
    }
  return 1;
}

/* Of shared memory: it is put off, if strips tell that nothing can be a race so far.  */
static inline int
gompy_race_row_strips (struct gompy_warp *w, struct gompy_later *later, uint32_t mask, uint64_t first, uint32_t word,
                       void *unit, uint32_t line)
{
  struct gompy_races *r = w->races;
  if (!r->by_strips
      || !gompy_strips_row (r, gompy_shared_word (first), mask, w->warpid, (word & GOMPY_RACE_IN_STEP) != 0,
                            (word & GOMPY_RACE_WRITES) != 0))
    return 0;
  gompy_race_row_wait (w, later, mask, first, word, unit, line);
  return 1;
}

__attribute__ ((no_caller_saved_registers, visibility ("hidden"))) int
gompy_race_row_soon (struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word, void *unit,
                     uint32_t line)
{
  struct gompy_later *later = gompy_race_row_room (w, mask, first, second, word);
  if (!later) /* where lines know what is read they are asked at once */
    return (second - first == GOMPY_LANES / 2 * (word & 0xff)
            && gompy_race_row_device (w, mask, first, word, unit, line))
           || gompy_race_row_again (w, mask, first, second, word);
  return gompy_race_row_strips (w, later, mask, first, word, unit, line);
}

/* The same of a row of words of 32 bits that is in shared memory.  */
__attribute__ ((no_caller_saved_registers, visibility ("hidden"))) int
gompy_race_shared_soon (struct gompy_warp *w, uint32_t mask, uint64_t first, uint32_t word, void *unit, uint32_t line)
{
  struct gompy_later *later = gompy_race_row_room (w, mask, first, first + 4 * GOMPY_LANES / 2, 4);
  return later && gompy_race_row_strips (w, later, mask, first, word, unit, line);
}
