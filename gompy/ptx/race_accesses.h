/* Accesses of compiled code held against those that their words remember (races.h), lane by lane.  */
#ifndef GOMPY_PTX_RACE_ACCESSES_H
#define GOMPY_PTX_RACE_ACCESSES_H

#include "race_lines.h"

/* What was found, for race_calls.pxi to tell.  */
struct gompy_race_found { struct gompy_touch other; int other_writes; uint32_t who; uint64_t address; };

/* --- one word ----------------------------------------------------------------------------------------------------- */

/* Whether two accesses of one word conflict: of the same bytes, not both atomic, in this launch, not ordered.  */
static inline int
gompy_race_conflict (struct gompy_races *r, const struct gompy_access *access, const struct gompy_touch *touch,
                     uint32_t who)
{
  if (touch->epoch < access->settled || !(gompy_who_bytes (touch->who & who)) || touch->who & who & GOMPY_WHO_STRONG)
    return 0;
  return !gompy_race_ordered (r, touch, gompy_who_warp (who), gompy_who_lane (who), access->writes,
                              access->in_step);
}

/* Whether an access of a word is surely no race with another; what is not sure is looked at by gompy_race_conflict.  */
static inline int
gompy_race_safe (const struct gompy_access *access, int32_t epoch, uint32_t its, uint32_t who)
{
  uint32_t differs = its ^ who;
  if (epoch < access->settled || its & who & GOMPY_WHO_STRONG)
    return 1;
  if (epoch < access->run_first)
    return 0;
  return epoch < access->ordered_before
         || (!(differs & GOMPY_WHO_THREAD & ~63u)
             && (access->in_step || epoch < access->own || !(differs & 63)
                 || gompy_all_first ((its & GOMPY_WHO_ALL) != 0, (who & GOMPY_WHO_ALL) != 0, access->writes)));
}

static inline struct gompy_touch
gompy_word_touch (gompy_word *word, int touch)
{
  return (struct gompy_touch) { *gompy_word_epoch (word, touch), (uint32_t) *gompy_word_who (word, touch) };
}

/* Remember a read.  */
static inline void
gompy_race_read (const struct gompy_access *access, gompy_word *word, uint32_t who)
{
  struct gompy_touch last = gompy_word_touch (word, GOMPY_READ);
  if (last.epoch < access->first)
    ; /* it is over */
  else if (last.epoch < access->run_first || (last.who ^ who) & GOMPY_WHO_READER)
    gompy_word_set (word, GOMPY_READ + 1, last.epoch, last.who);
  gompy_word_set (word, GOMPY_READ, access->own, who);
}

/* Remember a write.  Reads of its bytes came before it, or have been told.  */
static inline void
gompy_race_write (const struct gompy_access *access, gompy_word *word, uint32_t who)
{
  gompy_word_set (word, GOMPY_WRITE, access->own, who);
  for (int i = GOMPY_READ; i < GOMPY_TOUCHES; i++)
    if (!(gompy_who_bytes ((uint32_t) *gompy_word_who (word, i)) & ~gompy_who_bytes (who)))
      *gompy_word_epoch (word, i) = 0;
}

/* The same of a word's last write.  Lanes that write one word by one instruction: the word has the value of one of
   them.  */
static inline int
gompy_race_with_write (struct gompy_races *r, const struct gompy_access *access, const struct gompy_touch *write,
                       uint32_t who)
{
  return gompy_race_conflict (r, access, write, who)
         && !(access->writes && write->epoch >= access->run_first && gompy_who_warp (write->who) == gompy_who_warp (who)
              && gompy_who_site (write->who) == gompy_who_site (who));
}

/* One lane's access of one word that is not surely right.  Whether it races; FOUND says with what.  */
static __attribute__ ((noinline)) int
gompy_race_word (struct gompy_races *r, const struct gompy_access *access, gompy_word *word, uint32_t who,
                 struct gompy_race_found *found)
{
  struct gompy_touch write = gompy_word_touch (word, GOMPY_WRITE);
  int races = 0, strong = who & GOMPY_WHO_STRONG;
  /* Old PTX reads words that others update by atomic operations with plain loads: there is no other load.  GCC does
     so in new PTX, too.  */
  int weak = access->plain_reads && !strong && !access->writes;
  if (!(weak && write.who & GOMPY_WHO_STRONG) && gompy_race_with_write (r, access, &write, who))
    {
      found->other = write;
      found->other_writes = 1;
      races = 1;
    }
  if (!access->writes)
    {
      gompy_race_read (access, word, who);
      return races;
    }
  for (int i = GOMPY_READ; i < GOMPY_TOUCHES && !races; i++)
    {
      struct gompy_touch read = gompy_word_touch (word, i);
      if (!(access->plain_reads && strong && !(read.who & GOMPY_WHO_STRONG))
          && gompy_race_conflict (r, access, &read, who))
        {
          found->other = read;
          found->other_writes = 0;
          races = 1;
        }
    }
  gompy_race_write (access, word, who);
  return races;
}

/* --- one lane ----------------------------------------------------------------------------------------------------- */

/* An access by a warp; `who`: its place, and whether it is strong; `ways`: its place's.  */
static inline struct gompy_access
gompy_race_access (const struct gompy_races *r, uint32_t warp, uint32_t size, uint32_t who, int writes, uint32_t ways)
{
  return (struct gompy_access) { r->launch_first, r->run_first, r->ordered_before, r->knows[warp].of[warp],
                                 who | warp << 6, size, writes, ways & GOMPY_IN_STEP,
                                 (ways & GOMPY_PLAIN_READS) != 0, r->settled, INT32_MAX };
}

/* A plain read of SIZE bytes each by the lanes of MASK, which are in a row from lane 0's at FIRST on: this launch, if
   it is in a quiet block, or INT32_MAX.  */
static inline int32_t
gompy_race_quiet_since (const struct gompy_races *r, uint32_t mask, uint64_t first, uint32_t size)
{
  uint64_t low = first + (uint32_t) __builtin_ctz (mask) * size, high;
  high = first + (31 - (uint32_t) __builtin_clz (mask)) * size;
  for (uint32_t i = 0; i < r->nquiet; i++)
    if (low - r->quiet[i].low < r->quiet[i].size && high - r->quiet[i].low < r->quiet[i].size)
      return r->own_first;
  return INT32_MAX;
}

/* What is remembered at an address: NULL for what is not looked at (local memory, none at all).  Of shared memory what
   is before the last barrier of all is over.  */
static inline const struct gompy_space *
gompy_race_place (const struct gompy_races *r, struct gompy_access *access, uint64_t address, uint64_t shared_size,
                  uint64_t *word)
{
  uint64_t offset = address - r->base;
  if (offset < r->size)
    {
      access->first = r->launch_first;
      access->settled = r->settled;
      *word = offset / 4;
      return &r->memory;
    }
  offset = address - GOMPY_SHARED_BASE;
  access->first = access->settled = r->shared_first;
  *word = offset / 4;
  return offset < shared_size ? &r->shared : NULL;
}

/* Whether an earlier block has read a word that nobody has written: gompy_line_read says why that is enough.  */
static inline int
gompy_word_read_before (const struct gompy_races *r, const struct gompy_access *access, gompy_word *word, uint32_t who)
{
  struct gompy_touch read = gompy_word_touch (word, GOMPY_READ);
  return read.epoch >= access->first && read.epoch >= r->own_first && read.epoch < access->run_first
         && !(read.who & GOMPY_WHO_STRONG)
         && !(gompy_who_bytes (who) & ~gompy_who_bytes (read.who))
         && *gompy_word_epoch (word, GOMPY_WRITE) < access->first;
}

/* One lane's access of some bytes of a word that is spread out.  Whether it races, then FOUND says how.  */
static inline int
gompy_race_word_access (struct gompy_races *r, const struct gompy_access *access, gompy_word *word, uint32_t who,
                        struct gompy_race_found *found)
{
  int safe = 1;
  if (!access->writes && !gompy_race_across (r) && gompy_word_read_before (r, access, word, who))
    return 0;
  for (int i = 0; i < (access->writes ? GOMPY_TOUCHES : 1); i++)
    safe &= gompy_race_safe (access, *gompy_word_epoch (word, i), (uint32_t) *gompy_word_who (word, i), who);
  if (!safe)
    return gompy_race_word (r, access, word, who, found);
  if (access->writes)
    gompy_race_write (access, word, who);
  else
    gompy_race_read (access, word, who);
  return 0;
}

/* What a row has of one line: SOME of its words, as a row of the line.  */
struct gompy_row_part { struct gompy_line *line; uint32_t some, words, who; };

/* Of COUNT words from NUMBER on, by neighbouring lanes from LANE on, 1 << SHIFT each, what is behind DONE of them.  */
static inline struct gompy_row_part
gompy_row_part (const struct gompy_access *access, const struct gompy_space *space, uint64_t number, uint32_t count,
                uint32_t done, int lane, int shift)
{
  uint32_t at = (uint32_t) (number + done) % GOMPY_LINE, its = (uint32_t) lane + (done >> shift);
  uint32_t some = GOMPY_LINE - at < count - done ? GOMPY_LINE - at : count - done;
  return (struct gompy_row_part) { space->lines + (number + done) / GOMPY_LINE, some,
                                   (some == GOMPY_LINE ? ~0u : (1u << some) - 1) << at,
                                   access->who | (uint32_t) shift << 12 | ((its - (at >> shift)) & 31) };
}

enum { GOMPY_LANES_MANY = 64 };

/* An access by one lane, or all (GOMPY_WHO_ALL), or several neighbours that read one word (GOMPY_LANES_MANY and the
   last but one of them).  Whether it races, then FOUND says how.  */
static inline int
gompy_race_one (struct gompy_races *r, struct gompy_access *access, uint64_t address, uint32_t lane,
                uint64_t shared_size, struct gompy_race_found *found)
{
  uint64_t number;
  uint32_t size = access->size, who, count = (size + 3) / 4, words, kind;
  const struct gompy_space *space = gompy_race_place (r, access, address, shared_size, &number);
  struct gompy_line *line;
  if (!space)
    return 0;
  line = space->lines + number / GOMPY_LINE;
  words = ((1u << count) - 1) << number % GOMPY_LINE;
  if (size < 4 || size > 16 || address & (size - 1))
    who = size < 4 ? (((1u << size) - 1) << (address & 3) & 15) << 12 : 15u << 12;
  else
    {
      kind = lane & GOMPY_WHO_ALL ? GOMPY_ROW_ALL : lane & GOMPY_LANES_MANY ? GOMPY_ROW_MANY : GOMPY_ROW_LONE;
      words = gompy_line_access (r, access, line, gompy_line_words (space, number), words,
                                 access->who | kind << 12 | (lane & 31));
      if (!words)
        return 0;
      who = 15u << 12;
    }
  who |= access->who | (lane & 63);
  for (uint32_t done = 0; done < size; done += 4, number++)
    {
      gompy_word *word = gompy_word_at (space->words, number);
      uint32_t group = 1u << number / GOMPY_GROUP % (GOMPY_LINE / GOMPY_GROUP);
      line = space->lines + number / GOMPY_LINE;
      if (!(gompy_line_spread (access, line) & group))
        gompy_line_widen (access, line, gompy_line_words (space, number), group);
      gompy_line_touch (access, line, 0);
      r->judged = address + done;
      for (uint32_t other = lane / GOMPY_LANES_MANY; other + 1 > 0; other--)
        if (gompy_race_word_access (r, access, word, who + other, found))
          {
            found->address = address + done;
            found->who = who + other;
            return 1;
          }
    }
  return 0;
}

/* The first lane whose bytes of a word, not all of it, race with its last write, or GOMPY_LANES; FOUND says how.  Of a
   word one write is remembered, so this is asked before lanes write other bytes of it, by the same instruction.  */
static inline int
gompy_race_hidden (struct gompy_races *r, struct gompy_access *access, uint32_t mask, const uint64_t *a,
                   uint64_t shared_size, struct gompy_race_found *found)
{
  for (; mask; mask &= mask - 1)
    {
      int lane = __builtin_ctz (mask);
      uint32_t bytes = ((1u << access->size) - 1) << (a[lane] & 3) & 15;
      uint32_t who = access->who | (uint32_t) lane | bytes << 12;
      uint64_t number;
      const struct gompy_space *space = gompy_race_place (r, access, a[lane], shared_size, &number);
      struct gompy_line *line = space ? space->lines + number / GOMPY_LINE : NULL;
      if (!line || (line->loose_written < access->settled
                    && !(gompy_line_spread (access, line) >> number / GOMPY_GROUP % (GOMPY_LINE / GOMPY_GROUP) & 1)))
        continue;
      struct gompy_touch write = gompy_word_touch (gompy_word_at (space->words, number), GOMPY_WRITE);
      r->judged = a[lane];
      if (gompy_race_with_write (r, access, &write, who))
        {
          *found = (struct gompy_race_found) { write, 1, who, a[lane] };
          return lane;
        }
    }
  return GOMPY_LANES;
}

/* --- loose words ------------------------------------------------------------------------------------------------- */

/* An access by a lane that has no neighbour, of COUNT words from NUMBER on, or of some bytes of one: done if it is
   surely right and nothing is remembered of the words in rows that it may conflict with.  Otherwise 0, and nothing is
   remembered.  */
static inline __attribute__ ((always_inline)) int
gompy_race_loose (const struct gompy_races *r, const struct gompy_access *access, const struct gompy_space *space,
                  uint64_t number, uint32_t count, uint32_t who)
{
  struct gompy_line *line = space->lines + number / GOMPY_LINE;
  gompy_word *word = gompy_word_at (space->words, number);
  uint32_t its = ((1u << count) - 1) << number % GOMPY_LINE;
  uint32_t group = number / GOMPY_GROUP % (GOMPY_LINE / GOMPY_GROUP);
  int spread = gompy_line_spread (access, line) >> group & 1, safe = 1;
  int reads = spread || line->loose_read >= access->first, writes = spread || line->loose_written >= access->first;
  for (int i = 0; !spread && line->newest >= access->first && i < GOMPY_ROWS && line->rows[i].words; i++)
    if (line->rows[i].words & its && line->rows[i].epoch >= (access->writes ? access->first : access->settled)
        && (access->writes || line->rows[i].who & GOMPY_ROW_WRITE))
      return 0;
  for (uint32_t n = 0; n < count; n++)
    for (int i = writes ? GOMPY_WRITE : GOMPY_READ; i < (access->writes && reads ? GOMPY_TOUCHES : GOMPY_READ); i++)
      safe &= gompy_race_safe (access, *gompy_word_epoch (word + n, i), (uint32_t) *gompy_word_who (word + n, i), who);
  if (!safe)
    return 0;
  if (spread)
    gompy_line_touch (access, line, 0);
  else if (access->writes)
    line->loose_written = access->own;
  else
    line->loose_read = access->own;
  for (uint32_t n = 0; n < count; n++)
    if (!access->writes)
      {
        if (gompy_race_across (r) || !gompy_word_read_before (r, access, word + n, who))
          gompy_race_read (access, word + n, who);
      }
    else if (reads)
      gompy_race_write (access, word + n, who);
    else /* nor is there anything to be forgotten */
      gompy_word_set (word + n, GOMPY_WRITE, access->own, who);
  return 1;
}

/* Lanes that go their own ways; those that are left.  */
static __attribute__ ((noinline)) uint32_t
gompy_race_loose_lanes (const struct gompy_races *r, struct gompy_access *access, uint32_t mask, const uint64_t *a,
                        uint64_t shared_size)
{
  uint32_t size = access->size, left = 0;
  const struct gompy_space memory = r->memory;
  struct gompy_access own = *access; /* of device memory, in registers: it is the same for all words */
  uint64_t base = r->base, most = r->size;
  own.first = r->launch_first;
  own.settled = r->settled;
  for (; mask; mask &= mask - 1)
    {
      int lane = __builtin_ctz (mask);
      uint32_t bytes = size < 4 ? ((1u << size) - 1) << (a[lane] & 3) : 15;
      uint32_t who = access->who | (uint32_t) lane | bytes << 12;
      uint64_t number, offset = a[lane] - base;
      const struct gompy_space *space;
      if (size == 4 && offset < most && !(a[lane] & 3))
        left |= gompy_race_loose (r, &own, &memory, offset / 4, 1, who) ? 0u : 1u << lane;
      else if ((space = gompy_race_place (r, access, a[lane], shared_size, &number))
               && (a[lane] & (size - 1)
                   || !(size <= 4 ? gompy_race_loose (r, access, space, number, 1, who)
                                  : gompy_race_loose (r, access, space, number, size / 4, who))))
        left |= 1u << lane;
    }
  return left;
}

#endif
