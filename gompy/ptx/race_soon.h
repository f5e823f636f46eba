/* Rows of neighbouring words by neighbouring lanes: what is soon done of them (race_soon.c), without vectors.  */
#ifndef GOMPY_PTX_RACE_SOON_H
#define GOMPY_PTX_RACE_SOON_H

#include "race_accesses.h"
#include "race_strips.h"
#include "warp_fields.h"

enum
{
  GOMPY_LATER = 1024, GOMPY_LATER_LANES = 512,
  GOMPY_EVERY_LANE = 64                 /* one address: of all active lanes, `its` says which */
};

/* An access: its lanes' addresses (ITS 0), where lane 0 is in a row of them, or one address.  */
struct gompy_later
{
  struct gompy_access access;
  uint32_t mask, its;                   /* its: GOMPY_EVERY_LANE and gompy_race_one's lane, or 0 */
  uint32_t lanes;                       /* 1 + the number of their addresses; 0: they are a row, as of */
  uint64_t first;
  void *unit;                           /* the place, if that has no number yet, or NULL */
  uint32_t line;
};

/* Room for a row of words of 32 bits that is put off, lane 0's at FIRST, be it there or before.  NULL: that is for
   op_race_row.  */
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

/* It is put off.  */
static inline void
gompy_race_row_wait (const struct gompy_warp *w, struct gompy_later *later, uint32_t mask, uint64_t first,
                     uint32_t word, void *unit, uint32_t line)
{
  struct gompy_races *r = w->races;
  later->access.own = r->knows[w->warpid].of[w->warpid]; /* the rest is the same later (look_at_later) */
  later->access.who = w->warpid << 6;
  later->access.writes = (word & GOMPY_RACE_WRITES) != 0;
  later->mask = mask;
  later->its = later->lanes = 0;
  later->first = first;
  later->unit = unit;
  later->line = line;
  r->nlater++;
}

/* The number of a word of shared memory, of one before it as well.  */
static inline int32_t
gompy_shared_word (uint64_t address)
{
  return (int32_t) ((int64_t) (address - GOMPY_SHARED_BASE) >> 2);
}

/* Whether all words of a row, from its first active lane to its last, are known to be read in this launch.  It is noted
   which are, for compiled code.  */
static inline int
gompy_race_row_read (struct gompy_races *r, uint32_t mask, uint64_t first, uint32_t size)
{
  uint64_t at = (first + (uint32_t) __builtin_ctz (mask) * size - r->base) / 4;
  uint64_t end = (first + (32 - (uint32_t) __builtin_clz (mask)) * size + 3 - r->base) / 4;
  for (uint64_t some; at < end; at += some)
    {
      uint32_t words;
      some = GOMPY_LINE - at % GOMPY_LINE < end - at ? GOMPY_LINE - at % GOMPY_LINE : end - at;
      words = (uint32_t) ((1ull << some) - 1) << at % GOMPY_LINE;
      if (gompy_line_unread (&r->memory.lines[at / GOMPY_LINE], r->own_first, words))
        return 0;
      gompy_read_note (r, at, words);
    }
  return 1;
}

/* Whether a row of words is read again in a quiet block, which tells nothing more (gompy_row_quiet).  */
static inline int
gompy_race_row_again (const struct gompy_warp *w, uint32_t mask, uint64_t first, uint64_t second, uint32_t word)
{
  struct gompy_races *r = w->races;
  uint32_t size = word & 0xff;
  if (!r->nquiet || word & (GOMPY_RACE_WRITES | GOMPY_RACE_STRAYS) || second - first != size * (GOMPY_LANES / 2)
      || gompy_race_quiet_since (r, mask, first, size) == INT32_MAX)
    return 0;
  return gompy_race_row_read (r, mask, first, size);
}

#endif
