/* The same of neighbouring lanes, eight words at a time (race_accesses.h).  */
#ifndef GOMPY_PTX_RACE_ROWS_H
#define GOMPY_PTX_RACE_ROWS_H

#include "race_accesses.h"
#include "rows.h"

/* By a pointer: how vectors are returned depends on the processor.  */
static inline __attribute__ ((always_inline)) void
gompy_words_unsafe (gompy_words_of *unsafe, const struct gompy_access *access, const gompy_words_of *epoch,
                    const gompy_words_of *its, const gompy_words_of *who)
{
  gompy_words_of differs = *its ^ *who, run = *epoch >= access->run_first;
  gompy_words_of own = ((differs & 63) == 0) | (*epoch < access->own);
  own |= ((*its & GOMPY_WHO_ALL) != 0) & -(access->writes == 0); /* gompy_all_first, behind it lanes */
  own |= -access->in_step;
  gompy_words_of warp = (differs & (GOMPY_WHO_THREAD & ~63)) == 0;
  *unsafe |= (*epoch >= access->settled) & ~(run & ((*epoch < access->ordered_before) | (warp & own)));
}

static inline __attribute__ ((always_inline)) int
gompy_words_any (const gompy_words_of *words)
{
  uint64_t any[GOMPY_GROUP / 2];
  memcpy (any, words, sizeof any);
  return (any[0] | any[1] | any[2] | any[3]) != 0;
}

/* Eight words by as many lanes or fewer (IN); 0 if one of them is not surely right, then nothing is remembered.  */
static inline __attribute__ ((always_inline)) int
gompy_words_access (const struct gompy_access *access, struct gompy_words *words, const gompy_words_of *in,
                    const gompy_words_of *who)
{
  gompy_words_of epoch = words->touch[GOMPY_WRITE].epoch, its, live = (epoch >= access->first) & *in;
  gompy_words_of unsafe = { 0 };
  gompy_words_of own = access->own - (gompy_words_of) { 0 };
  if (gompy_words_any (&live))
    gompy_words_unsafe (&unsafe, access, &epoch, &words->touch[GOMPY_WRITE].who, who);
  if (access->writes)
    {
      int reads = 0;
      for (int i = GOMPY_READ; i < GOMPY_TOUCHES; i++)
        {
          live = (words->touch[i].epoch >= access->first) & *in;
          if (gompy_words_any (&live))
            {
              gompy_words_unsafe (&unsafe, access, &words->touch[i].epoch, &words->touch[i].who, who);
              reads |= 1 << i;
            }
        }
      unsafe &= *in;
      if (gompy_words_any (&unsafe))
        return 0;
      words->touch[GOMPY_WRITE].epoch = (own & *in) | (epoch & ~*in);
      words->touch[GOMPY_WRITE].who = (*who & *in) | (words->touch[GOMPY_WRITE].who & ~*in);
      for (int i = GOMPY_READ; i < GOMPY_TOUCHES; i++)
        if (reads >> i & 1)
          words->touch[i].epoch &= ~*in;
      return 1;
    }
  unsafe &= *in;
  if (gompy_words_any (&unsafe))
    return 0;
  epoch = words->touch[GOMPY_READ].epoch;
  its = words->touch[GOMPY_READ].who;
  live = ((epoch < access->run_first) | (((its ^ *who) & GOMPY_WHO_READER) != 0)) & (epoch >= access->first) & *in;
  if (gompy_words_any (&live)) /* they are kept as the reads before the last */
    {
      words->touch[GOMPY_READ + 1].epoch = (epoch & live) | (words->touch[GOMPY_READ + 1].epoch & ~live);
      words->touch[GOMPY_READ + 1].who = (its & live) | (words->touch[GOMPY_READ + 1].who & ~live);
    }
  words->touch[GOMPY_READ].epoch = (own & *in) | (epoch & ~*in);
  words->touch[GOMPY_READ].who = (*who & *in) | (its & ~*in);
  return 1;
}

/* Words from NUMBER on by neighbouring lanes from LANE on, each of them whole words (1 << SHIFT of them).  The number
   of words that are right: COUNT, or those of the groups before one that is to be looked at lane by lane.  */
#define GOMPY_RACE_ROW(NAME, ...)                                                                                      \
  static __attribute__ ((noinline __VA_ARGS__)) uint32_t                                                               \
  NAME (const struct gompy_access *access, struct gompy_words *words, uint64_t number, uint32_t count, int lane,       \
        int shift)                                                                                                     \
  {                                                                                                                    \
    struct gompy_words *group = words + number / GOMPY_GROUP;                                                          \
    int32_t at = -(int32_t) (number % GOMPY_GROUP), end = (int32_t) count;                                             \
    for (; at < end; at += GOMPY_GROUP, group++)                                                                       \
      {                                                                                                                \
        gompy_words_of word = (gompy_words_of) { 0, 1, 2, 3, 4, 5, 6, 7 } + at;                                        \
        gompy_words_of in = (word >= 0) & (word < end);                                                                \
        gompy_words_of who = ((word >> shift) + lane) | (int32_t) (access->who | 15u << 12);                           \
        if (!gompy_words_access (access, group, &in, &who))                                                            \
          return at < 0 ? 0 : (uint32_t) at;                                                                           \
      }                                                                                                                \
    return count;                                                                                                      \
  }

GOMPY_RACE_ROW (gompy_race_row_usual, )
GOMPY_RACE_ROW (gompy_race_row_avx2, , target ("avx2"))

/* The same of a line, where some groups are spread out: words that are LEFT from the first one on.  */
static __attribute__ ((noinline)) uint32_t
gompy_race_spread_row (const struct gompy_access *access, struct gompy_line *line, struct gompy_words *words,
                       uint64_t number, uint32_t count, int lane, int shift, uint32_t left)
{
  uint32_t done = 0;
  gompy_line_touch (access, line, 0);
  while (done < count)
    {
      uint32_t at = (uint32_t) (number + done) % GOMPY_LINE, end = GOMPY_GROUP - at % GOMPY_GROUP;
      uint32_t some = end < count - done ? end : count - done, right = some;
      if (left >> at & 1)
        right = (__builtin_cpu_supports ("avx2") ? gompy_race_row_avx2 : gompy_race_row_usual) (
          access, words, number + done, some, lane + (int) (done >> shift), shift);
      if (right != some)
        break;
      done += some;
    }
  return done;
}

/* The same, of any lines.  */
static inline uint32_t
gompy_race_row (struct gompy_races *r, const struct gompy_access *access, const struct gompy_space *space,
                uint64_t number, uint32_t count, int lane, int shift)
{
  for (uint32_t done = 0, some; done < count; done += some)
    {
      struct gompy_row_part part = gompy_row_part (access, space, number, count, done, lane, shift);
      uint32_t left;
      some = part.some;
      if (gompy_line_quick (r, access, part.line, part.words, part.who))
        continue;
      left = gompy_line_access (r, access, part.line, gompy_line_words (space, number + done), part.words, part.who);
      if (left)
        left = some - gompy_race_spread_row (access, part.line, space->words, number + done, some,
                                             lane + (int) (done >> shift), shift, left);
      if (left)
        return done + some - left;
    }
  return count;
}

/* Accesses by LANES neighbours from LANE on, each one's word 1 << KIND words behind that of the one before, as of
   members of structures.  How many of the lanes are right, or those before a line that is to be looked at lane by
   lane.  */
static __attribute__ ((noinline)) int
gompy_race_stride (struct gompy_races *r, const struct gompy_access *access, const struct gompy_space *space,
                   uint64_t number, int lanes, int lane, uint32_t kind)
{
  static const uint32_t every[GOMPY_ROW_MOST + 1] = { ~0u, 0x55555555, 0x11111111, 0x01010101, 0x00010001 };
  uint32_t words = every[kind] * ((1u << access->size / 4) - 1);
  for (int done = 0, some; done < lanes; done += some)
    {
      uint64_t at = number + ((uint64_t) done << kind);
      uint32_t first = at % GOMPY_LINE;
      some = (int) ((GOMPY_LINE - first + (1u << kind) - 1) >> kind);
      uint32_t its = words << first;
      if (some > lanes - done)
        {
          some = lanes - done;
          its &= (1u << (first + ((uint32_t) some << kind))) - 1;
        }
      if (gompy_line_access (r, access, space->lines + at / GOMPY_LINE, gompy_line_words (space, at), its,
                             access->who | kind << 12 | (((uint32_t) (lane + done) - (first >> kind)) & 31)))
        return done;
    }
  return lanes;
}

/* How many lanes from LANE on are right that go in equal steps.  */
static inline int
gompy_race_steps (struct gompy_races *r, struct gompy_access *access, uint32_t mask, const uint64_t *a,
                  uint64_t shared_size, int lane)
{
  const struct gompy_space *space;
  uint64_t number, step = lane < GOMPY_LANES - 1 ? a[lane + 1] - a[lane] : 0;
  if (step <= access->size || step > 4u << GOMPY_ROW_MOST || step & (step - 1) || !(mask >> lane >> 1 & 1))
    return 0;
  int lanes = (int) gompy_row_length (gompy_rows_of (a, (uint32_t) step).follows & mask, lane);
  space = gompy_race_place (r, access, a[lane], shared_size, &number);
  if (!space
      || gompy_race_place (r, access, a[lane + lanes - 1] + access->size - 1, shared_size, &(uint64_t) { 0 }) != space)
    return 0;
  return gompy_race_stride (r, access, space, number, lanes, lane, (uint32_t) __builtin_ctzll (step) - 2);
}

/* Whether the first two lanes make a step that gompy_race_steps knows.  */
static inline int
gompy_race_stepping (const uint64_t *a, uint32_t mask, uint32_t size)
{
  int lane = __builtin_ctz (mask);
  uint64_t step = lane < GOMPY_LANES - 1 ? a[lane + 1] - a[lane] : 0;
  return mask >> lane >> 1 & 1 && step > size && step <= 4u << GOMPY_ROW_MOST && !(step & (step - 1));
}

/* Lanes that go their own ways: what is remembered of their words is fetched together.  It takes large pages from the
   first such lanes on that are in device memory: for a few words here and there many of these would be for nothing.  */
static inline void
gompy_race_fetch (struct gompy_races *r, uint32_t mask, const uint64_t *a, int writes)
{
  for (; mask; mask &= mask - 1)
    {
      uint64_t offset = a[__builtin_ctz (mask)] - r->base;
      if (offset < r->size)
        {
          const struct gompy_words *group = r->memory.words + offset / (4 * GOMPY_GROUP);
          if (!r->scattered)
            {
              r->scattered = 1;
              madvise (r->memory.words, gompy_words_size (r->size), MADV_HUGEPAGE);
            }
          __builtin_prefetch (r->memory.lines + offset / (4 * GOMPY_LINE), 1);
          __builtin_prefetch (&group->touch[writes ? GOMPY_WRITE : GOMPY_READ], 1);
        }
    }
}

/* An access by several lanes, from LANE on.  The lane that races, FOUND says how; or 32.  */
static int
gompy_race_lanes (struct gompy_races *r, struct gompy_access *access, uint32_t mask, const uint64_t *a,
                  uint64_t shared_size, int lane, struct gompy_race_found *found)
{
  uint32_t size = access->size;
  int shift = size == 4 ? 0 : size == 8 ? 1 : size == 16 ? 2 : -1;
  int alone = lane; /* lanes before this one are looked at one by one */
  struct gompy_rows rows = gompy_rows_of (a, size);
  uint32_t rest;
  if (lane == 0)
    {
      uint32_t joined = (rows.follows | (access->writes ? 0 : rows.same)) & mask & mask << 1;
      uint32_t loose = mask & ~joined & ~(joined >> 1);
      if (loose && (size <= 4 || size == 8 || size == 16) && !gompy_race_stepping (a, mask, size))
        {
          if (__builtin_popcount (loose) > 8)
            gompy_race_fetch (r, loose, a, access->writes);
          mask = (mask & ~loose) | gompy_race_loose_lanes (r, access, loose, a, shared_size);
        }
    }
  while (lane < GOMPY_LANES && (rest = mask >> lane))
    {
      lane += __builtin_ctz (rest);
      uint32_t who = (uint32_t) lane;
      int last = lane;
      if (!access->writes && (last += (int) gompy_row_length (rows.same & mask, lane) - 1) > lane)
        who = GOMPY_LANES_MANY | (uint32_t) (last - 1);
      else if (lane >= alone && shift >= 0 && !(a[lane] & (size - 1)))
        {
          int end = lane + (int) gompy_row_length (rows.follows & mask, lane);
          uint64_t number;
          const struct gompy_space *space;
          if (end - lane >= 2 && (space = gompy_race_place (r, access, a[lane], shared_size, &number))
              && gompy_race_place (r, access, a[end - 1] + size - 1, shared_size, &(uint64_t) { 0 }) == space)
            {
              uint32_t count = (uint32_t) (end - lane) << shift;
              uint32_t right = gompy_race_row (r, access, space, number, count, lane, shift);
              lane += (int) (right >> shift);
              if (right == count)
                continue;
              /* The lanes of the group that is not surely right.  */
              alone = lane + (int) ((GOMPY_GROUP - (number + right) % GOMPY_GROUP) >> shift);
              who = (uint32_t) lane;
              last = lane;
            }
          else
            {
              alone = end;
              last = lane + gompy_race_steps (r, access, mask, a, shared_size, lane);
              if (last > lane)
                {
                  lane = last;
                  continue;
                }
            }
        }
      if (gompy_race_one (r, access, a[lane], who, shared_size, found))
        return (int) gompy_who_lane (found->who) & 31;
      lane = last + 1;
    }
  return GOMPY_LANES;
}

#endif
