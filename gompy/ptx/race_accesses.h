/* Accesses of compiled code held against those that their words remember (races.h): lane by lane, and neighbouring
   lanes' eight words at a time.  */
#ifndef GOMPY_PTX_RACE_ACCESSES_H
#define GOMPY_PTX_RACE_ACCESSES_H

#include "races.h"
#include "rows.h"

/* What was found, for race_calls.pxi to tell.  */
struct gompy_race_found { struct gompy_touch other; int other_writes; uint32_t who; uint64_t address; };

/* What is the same for all lanes of an access.  `first`: what came before this epoch is over.  */
struct gompy_access
{
  int32_t first, run_first, ordered_before, own;
  uint32_t who, size;
  int writes, in_step;
};

/* --- one word ----------------------------------------------------------------------------------------------------- */

/* Whether two accesses of one word conflict: of the same bytes, not both atomic, in this launch, not ordered.  */
static inline int
gompy_race_conflict (struct gompy_races *r, const struct gompy_access *access, const struct gompy_touch *touch,
                     uint32_t who)
{
  if (touch->epoch < access->first || !(gompy_who_bytes (touch->who & who)) || touch->who & who & GOMPY_WHO_STRONG)
    return 0;
  return !gompy_race_ordered (r, touch, gompy_who_warp (who), gompy_who_lane (who), access->in_step);
}

/* Whether an access of a word is surely no race with another; what is not sure is looked at by gompy_race_conflict.  */
static inline int
gompy_race_safe (const struct gompy_access *access, int32_t epoch, uint32_t its, uint32_t who)
{
  uint32_t differs = its ^ who;
  if (epoch < access->first)
    return 1;
  if (epoch < access->run_first)
    return 0;
  return epoch < access->ordered_before
         || (!(differs & GOMPY_WHO_THREAD & ~63u)
             && (access->in_step || epoch < access->own || !(differs & 63) || (its | who) & GOMPY_WHO_ALL));
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
  if (last.epoch < access->run_first || (last.who ^ who) & GOMPY_WHO_THREAD)
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

/* One lane's access of one word that is not surely right.  Whether it races; FOUND says with what.  */
static __attribute__ ((noinline)) int
gompy_race_word (struct gompy_races *r, const struct gompy_access *access, gompy_word *word, uint32_t who,
                 struct gompy_race_found *found)
{
  struct gompy_touch write = gompy_word_touch (word, GOMPY_WRITE);
  int races = 0, strong = who & GOMPY_WHO_STRONG;
  /* Old PTX reads words that others update by atomic operations with plain loads: there is no other load.  */
  int weak = access->in_step && !strong && !access->writes;
  if (!(weak && write.who & GOMPY_WHO_STRONG) && gompy_race_conflict (r, access, &write, who)
      /* Lanes that write one word by one instruction: the word has the value of one of them.  */
      && !(access->writes && write.epoch >= access->run_first && gompy_who_warp (write.who) == gompy_who_warp (who)
           && gompy_who_site (write.who) == gompy_who_site (who)))
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
      if (!(access->in_step && strong && !(read.who & GOMPY_WHO_STRONG)) && gompy_race_conflict (r, access, &read, who))
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

/* An access by a warp; `who`: its place, and whether it is strong.  */
static inline struct gompy_access
gompy_race_access (const struct gompy_races *r, uint32_t warp, uint32_t size, uint32_t who, int writes, int in_step)
{
  return (struct gompy_access) { r->launch_first, r->run_first, r->ordered_before, r->knows[warp].of[warp],
                                 who | warp << 6, size, writes, in_step };
}

/* What is remembered at an address: NULL for what is not looked at (local memory, none at all).  */
static inline struct gompy_words *
gompy_race_place (const struct gompy_races *r, struct gompy_access *access, uint64_t address, uint64_t shared_size,
                  uint64_t *word)
{
  uint64_t offset = address - r->base;
  if (offset < r->size)
    {
      access->first = r->launch_first;
      *word = offset / 4;
      return r->memory;
    }
  offset = address - GOMPY_SHARED_BASE;
  access->first = r->run_first;
  *word = offset / 4;
  return offset < shared_size ? r->shared : NULL;
}

/* An access by one lane, or all.  Whether it races, then FOUND says how.  */
static inline int
gompy_race_one (struct gompy_races *r, struct gompy_access *access, uint64_t address, uint32_t lane,
                uint64_t shared_size, struct gompy_race_found *found)
{
  uint64_t number;
  uint32_t size = access->size, who = access->who | lane;
  struct gompy_words *words = gompy_race_place (r, access, address, shared_size, &number);
  if (!words)
    return 0;
  who |= size < 4 ? (((1u << size) - 1) << (address & 3) & 15) << 12 : 15u << 12;
  for (uint32_t done = 0; done < size; done += 4, number++)
    {
      gompy_word *word = gompy_word_at (words, number);
      int safe = 1;
      for (int i = 0; i < (access->writes ? GOMPY_TOUCHES : 1); i++)
        safe &= gompy_race_safe (access, *gompy_word_epoch (word, i), (uint32_t) *gompy_word_who (word, i), who);
      if (!safe)
        {
          if (gompy_race_word (r, access, word, who, found))
            {
              found->address = address + done;
              found->who = who;
              return 1;
            }
        }
      else if (access->writes)
        gompy_race_write (access, word, who);
      else
        gompy_race_read (access, word, who);
    }
  return 0;
}

/* --- neighbours --------------------------------------------------------------------------------------------------- */

/* By a pointer: how vectors are returned depends on the processor.  */
static inline __attribute__ ((always_inline)) void
gompy_words_unsafe (gompy_words_of *unsafe, const struct gompy_access *access, const gompy_words_of *epoch,
                    const gompy_words_of *its, const gompy_words_of *who)
{
  gompy_words_of differs = *its ^ *who, run = *epoch >= access->run_first;
  gompy_words_of own = ((differs & 63) == 0) | ((*its & GOMPY_WHO_ALL) != 0) | (*epoch < access->own);
  own |= -access->in_step;
  gompy_words_of warp = (differs & (GOMPY_WHO_THREAD & ~63)) == 0;
  *unsafe |= (*epoch >= access->first) & ~(run & ((*epoch < access->ordered_before) | (warp & own)));
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
  live = ((epoch < access->run_first) | (((its ^ *who) & GOMPY_WHO_THREAD) != 0)) & (epoch >= access->first) & *in;
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
  if (!access->writes) /* of neighbours that read one word the first and the last are enough */
    mask &= ~(mask << 1 & mask >> 1 & rows.same & rows.same >> 1);
  while (lane < GOMPY_LANES && (rest = mask >> lane))
    {
      lane += __builtin_ctz (rest);
      if (lane >= alone && shift >= 0 && !(a[lane] & (size - 1)))
        {
          int end = lane + (int) gompy_row_length (rows.follows & mask, lane);
          uint64_t number;
          struct gompy_words *words;
          if (end - lane >= 4 && (words = gompy_race_place (r, access, a[lane], shared_size, &number))
              && gompy_race_place (r, access, a[end - 1] + size - 1, shared_size, &(uint64_t) { 0 }) == words)
            {
              uint32_t count = (uint32_t) (end - lane) << shift;
              uint32_t right = (__builtin_cpu_supports ("avx2") ? gompy_race_row_avx2 : gompy_race_row_usual) (
                access, words, number, count, lane, shift);
              lane += (int) (right >> shift);
              if (right == count)
                continue;
              /* The lanes of the group that is not surely right.  */
              alone = lane + (int) ((GOMPY_GROUP - (number + right) % GOMPY_GROUP) >> shift);
            }
          else
            alone = end;
        }
      if (gompy_race_one (r, access, a[lane], (uint32_t) lane, shared_size, found))
        return lane;
      lane++;
    }
  return GOMPY_LANES;
}

#endif
