/* Races between the threads of a kernel (GOMPY_CHECK=race): who touched each word last, and what came before what.

   Judged by what orders two accesses, not by who happened to come first: barriers, __syncwarp, and fences with atomic
   operations (PTX ISA, "Memory Consistency Model").  A warp has a vector clock over its block's warps; a barrier joins
   those of the warps that meet at it.  Between blocks there is order only where one has passed a fence and written an
   atomic word, and the other has read that word (struct gompy_flag).  Before sm_70 the lanes of a warp go in step.

   A word of memory remembers its last write and its last two reads in this launch.  So a race with an older read can
   be missed.  What is told is a race by the model, whatever came of it in this run.

   Kernels with this check run one after the other, each on one host thread: nothing here is shared.  */
#ifndef GOMPY_PTX_RACES_H
#define GOMPY_PTX_RACES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gompy/native/ptx.h"

enum
{
  GOMPY_RACE_WARPS = 32,
  GOMPY_RACE_SITES = 65536,
  GOMPY_RACE_DEPTH = 32,                /* flags behind flags that are followed; what is behind counts as ordered */
  GOMPY_RACE_KNOWN = 64                 /* flags that a block has seen */
};

/* What one access looks like in a word's memory.  `run`: the block's number among all of the process's, 0: none.
   `who`: bits 0-5 the lane (32: all, with one value), 6-10 the warp, 11 strong, 12-15 the word's bytes, 16-31 the
   place in the program.  */
struct gompy_touch { uint32_t run, clock, who; };
struct gompy_touched { struct gompy_touch write, read[2]; };

enum { GOMPY_WHO_ALL = 32, GOMPY_WHO_STRONG = 1 << 11 };

static inline uint32_t gompy_who_lane (uint32_t who) { return who & 63; }
static inline uint32_t gompy_who_warp (uint32_t who) { return who >> 6 & 31; }
static inline uint32_t gompy_who_bytes (uint32_t who) { return who >> 12 & 15; }
static inline uint32_t gompy_who_site (uint32_t who) { return who >> 16; }

struct gompy_clocks { uint32_t of[GOMPY_RACE_WARPS]; };

/* A place in PTX.  */
struct gompy_race_site { void *unit; uint32_t line; uint32_t library; uint32_t in_step; };

/* An atomic word that somebody has written behind a fence: what is known to who reads it.  */
struct gompy_flag_block { uint32_t run, since; struct gompy_clocks clocks; };
struct gompy_flag_seen { struct gompy_flag *flag; uint32_t version; };
struct gompy_flag
{
  struct gompy_flag *next;
  uint64_t address;
  uint32_t version, count, room, nbehind;
  struct gompy_flag_block *blocks;
  struct gompy_flag_seen behind[8];     /* what the writers had read */
  uint32_t visited;
};

struct gompy_races
{
  uint32_t first_run, next_run, run;    /* of this launch, of the next block, of this block */
  struct gompy_clocks knows[GOMPY_RACE_WARPS];
  struct gompy_clocks fenced[GOMPY_RACE_WARPS];
  uint8_t has_fenced[GOMPY_RACE_WARPS];
  struct gompy_clocks meeting[16], meeting_fenced[16]; /* at each barrier */
  uint8_t meeting_has_fenced[16];
  struct gompy_flag_seen seen[GOMPY_RACE_KNOWN];
  uint32_t nseen, visit;
  struct gompy_touched *shared;
  size_t shared_words;
  struct gompy_touched *memory;         /* of the window of device memory at `base` */
  uint64_t base, size;
  struct gompy_flag *flags[1024];
  struct gompy_race_site *sites;
  uint32_t nsites, last_site;
  uint32_t *site_table;                 /* hash of (unit, line) -> site + 1 */
};

/* What was found, for race_calls.pxi to tell.  */
struct gompy_race_found { struct gompy_touch other; int other_writes; uint32_t who; uint64_t address; };

static inline uint32_t
gompy_hash_site (const void *unit, uint32_t line)
{
  uint64_t h = ((uint64_t) (uintptr_t) unit >> 4) * 0x9e3779b97f4a7c15ull + line * 0xff51afd7ed558ccdull;
  return (uint32_t) (h >> 40);
}

/* --- a launch, a block ----------------------------------------------------------------------------------------- */

static void
gompy_race_forget_flags (struct gompy_races *r)
{
  for (size_t i = 0; i < sizeof r->flags / sizeof *r->flags; i++)
    while (r->flags[i])
      {
        struct gompy_flag *flag = r->flags[i];
        r->flags[i] = flag->next;
        free (flag->blocks);
        free (flag);
      }
}

static void
gompy_race_unmap (struct gompy_races *r)
{
  if (r->memory)
    munmap (r->memory, r->size / 4 * sizeof *r->memory);
  r->memory = NULL;
}

/* Memory for what is remembered of a window; 0, or -1 for lack of memory.  Only what is touched takes any.  */
static int
gompy_race_window (struct gompy_races *r, uint64_t base, uint64_t size)
{
  if (r->memory && r->base == base && r->size == size)
    return 0;
  gompy_race_unmap (r);
  void *memory = mmap (NULL, size / 4 * sizeof *r->memory, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return -1;
  r->memory = memory;
  r->base = base;
  r->size = size;
  return 0;
}

static struct gompy_races *
gompy_race_new (void)
{
  struct gompy_races *r = calloc (1, sizeof *r);
  if (!r)
    return NULL;
  r->sites = calloc (GOMPY_RACE_SITES, sizeof *r->sites);
  r->site_table = calloc (4 * GOMPY_RACE_SITES, sizeof *r->site_table);
  r->next_run = 1;
  r->nsites = 1; /* 0: places beyond those that can be told apart */
  if (r->sites && r->site_table)
    return r;
  free (r->sites);
  free (r->site_table);
  free (r);
  return NULL;
}

/* Begin a launch of some blocks; 0, or -1 for lack of memory.  */
static int
gompy_race_launch (struct gompy_races *r, uint64_t base, uint64_t size, uint64_t blocks)
{
  gompy_race_forget_flags (r);
  if (blocks > UINT32_MAX - 1)
    return -1;
  if (r->next_run > UINT32_MAX - (uint32_t) blocks)
    {
      gompy_race_unmap (r);
      r->next_run = 1;
    }
  if (gompy_race_window (r, base, size))
    return -1;
  r->first_run = r->next_run;
  r->next_run += (uint32_t) blocks;
  return 0;
}

static int
gompy_race_block (struct gompy_races *r, uint64_t block, uint32_t nwarps, uint64_t shared)
{
  size_t words = shared / 4 + 1;
  if (words > r->shared_words)
    {
      free (r->shared);
      r->shared = calloc (words, sizeof *r->shared);
      r->shared_words = r->shared ? words : 0;
      if (!r->shared)
        return -1;
    }
  r->run = r->first_run + (uint32_t) block;
  r->nseen = 0;
  memset (r->knows, 0, sizeof r->knows);
  memset (r->fenced, 0, sizeof r->fenced);
  memset (r->has_fenced, 0, sizeof r->has_fenced);
  memset (r->meeting, 0, sizeof r->meeting);
  memset (r->meeting_fenced, 0, sizeof r->meeting_fenced);
  memset (r->meeting_has_fenced, 0, sizeof r->meeting_has_fenced);
  for (uint32_t w = 0; w < nwarps; w++)
    r->knows[w].of[w] = 1;
  return 0;
}

/* Device memory that has a new owner (malloc in a kernel).  */
static void
gompy_race_fresh (struct gompy_races *r, uint64_t address, uint64_t size)
{
  if (r->memory && address - r->base < r->size)
    memset (r->memory + (address - r->base) / 4, 0, (size + 3) / 4 * sizeof *r->memory);
}

/* --- order ------------------------------------------------------------------------------------------------------ */

static inline void
gompy_clocks_join (struct gompy_clocks *to, const struct gompy_clocks *from)
{
  for (int i = 0; i < GOMPY_RACE_WARPS; i++)
    to->of[i] = to->of[i] > from->of[i] ? to->of[i] : from->of[i];
}

/* A warp comes to a barrier.  */
static void
gompy_race_arrive (struct gompy_races *r, uint32_t warp, uint32_t number)
{
  gompy_clocks_join (&r->meeting[number], &r->knows[warp]);
  if (r->has_fenced[warp])
    {
      gompy_clocks_join (&r->meeting_fenced[number], &r->fenced[warp]);
      r->meeting_has_fenced[number] = 1;
    }
  r->knows[warp].of[warp]++; /* what bar.arrive's warp does from here on is not known to those who wait */
}

/* It goes on behind it.  */
static void
gompy_race_leave (struct gompy_races *r, uint32_t warp, uint32_t number)
{
  gompy_clocks_join (&r->knows[warp], &r->meeting[number]);
  if (r->meeting_has_fenced[number])
    {
      gompy_clocks_join (&r->fenced[warp], &r->meeting_fenced[number]);
      r->has_fenced[warp] = 1;
    }
}

/* All have left.  */
static void
gompy_race_empty (struct gompy_races *r, uint32_t number)
{
  memset (&r->meeting[number], 0, sizeof r->meeting[number]);
  memset (&r->meeting_fenced[number], 0, sizeof r->meeting_fenced[number]);
  r->meeting_has_fenced[number] = 0;
}

/* bar.warp.sync: the lanes' accesses before it come before those behind it.  (Also of lanes outside of its mask.)  */
static void
gompy_race_warp_sync (struct gompy_races *r, uint32_t warp)
{
  r->knows[warp].of[warp]++;
}

/* membar, fence.  */
static void
gompy_race_fence (struct gompy_races *r, uint32_t warp)
{
  gompy_clocks_join (&r->fenced[warp], &r->knows[warp]);
  r->has_fenced[warp] = 1;
  r->knows[warp].of[warp]++;
}

static struct gompy_flag **
gompy_race_flag (struct gompy_races *r, uint64_t address)
{
  struct gompy_flag **at = &r->flags[(address >> 2) * 0x9e3779b97f4a7c15ull >> 54];
  while (*at && (*at)->address != address)
    at = &(*at)->next;
  return at;
}

static int
gompy_race_saw (struct gompy_flag_seen *seen, uint32_t *count, uint32_t most, struct gompy_flag *flag)
{
  for (uint32_t i = 0; i < *count; i++)
    if (seen[i].flag == flag)
      {
        seen[i].version = flag->version;
        return 1;
      }
  if (*count == most)
    return 0;
  seen[(*count)++] = (struct gompy_flag_seen) { flag, flag->version };
  return 1;
}

/* A warp writes an atomic word: who reads it later knows what the warp's last fence knew.  */
static void
gompy_race_publish (struct gompy_races *r, uint32_t warp, uint64_t address)
{
  struct gompy_flag **at, *flag;
  struct gompy_flag_block *block = NULL;
  if (!r->has_fenced[warp])
    return;
  at = gompy_race_flag (r, address);
  if (!*at && !(*at = calloc (1, sizeof **at)))
    return;
  flag = *at;
  flag->address = address;
  flag->version++;
  if (flag->count && flag->blocks[flag->count - 1].run == r->run)
    block = &flag->blocks[flag->count - 1];
  else
    {
      /* Blocks run one after the other, so a block that is here already would be the last.  */
      if (flag->count == flag->room)
        {
          uint32_t room = 2 * flag->room + 4;
          void *more = realloc (flag->blocks, room * sizeof *flag->blocks);
          if (!more)
            return;
          flag->blocks = more;
          flag->room = room;
        }
      block = &flag->blocks[flag->count++];
      memset (block, 0, sizeof *block);
      block->run = r->run;
      block->since = flag->version;
    }
  gompy_clocks_join (&block->clocks, &r->fenced[warp]);
  for (uint32_t i = 0; i < r->nseen; i++)
    if (r->seen[i].flag != flag)
      gompy_race_saw (flag->behind, &flag->nbehind, sizeof flag->behind / sizeof *flag->behind, r->seen[i].flag);
}

/* Whether a word is one.  */
static int
gompy_race_is_flag (struct gompy_races *r, uint64_t address)
{
  return *gompy_race_flag (r, address) != NULL;
}

/* A warp reads one.  */
static void
gompy_race_learn (struct gompy_races *r, uint32_t warp, uint64_t address)
{
  struct gompy_flag *flag = *gompy_race_flag (r, address);
  if (!flag)
    return;
  if (flag->count && flag->blocks[flag->count - 1].run == r->run)
    gompy_clocks_join (&r->knows[warp], &flag->blocks[flag->count - 1].clocks);
  gompy_race_saw (r->seen, &r->nseen, GOMPY_RACE_KNOWN, flag);
}

static int
gompy_flag_tells (struct gompy_races *r, const struct gompy_flag_seen *seen, const struct gompy_touch *touch, int depth)
{
  struct gompy_flag *flag = seen->flag;
  if (flag->visited == r->visit)
    return 0;
  flag->visited = r->visit;
  if (depth == GOMPY_RACE_DEPTH)
    return 1;
  for (uint32_t i = 0; i < flag->count; i++)
    if (flag->blocks[i].run == touch->run)
      {
        if (flag->blocks[i].since <= seen->version
            && flag->blocks[i].clocks.of[gompy_who_warp (touch->who)] >= touch->clock)
          return 1;
        break;
      }
  for (uint32_t i = 0; i < flag->nbehind; i++)
    if (gompy_flag_tells (r, &flag->behind[i], touch, depth + 1))
      return 1;
  return 0;
}

/* Whether an access of another block is known to come before this one's.  */
static __attribute__ ((noinline)) int
gompy_race_told (struct gompy_races *r, const struct gompy_touch *touch)
{
  r->visit++;
  if (r->nseen == GOMPY_RACE_KNOWN)
    return 1; /* more than can be remembered */
  for (uint32_t i = 0; i < r->nseen; i++)
    if (gompy_flag_tells (r, &r->seen[i], touch, 0))
      return 1;
  return 0;
}

/* Whether an access comes before one of a warp's lane, by what orders them.  */
static inline int
gompy_race_ordered (struct gompy_races *r, const struct gompy_touch *touch, uint32_t warp, uint32_t lane, int in_step)
{
  uint32_t other = gompy_who_warp (touch->who), its = gompy_who_lane (touch->who);
  if (touch->run != r->run)
    return gompy_race_told (r, touch);
  if (other != warp)
    return touch->clock <= r->knows[warp].of[other];
  if (in_step || its == lane || its == GOMPY_WHO_ALL || lane == GOMPY_WHO_ALL)
    return 1;
  return touch->clock < r->knows[warp].of[warp];
}

/* --- accesses --------------------------------------------------------------------------------------------------- */

/* The number of a place in PTX, 0 if there are too many; *FRESH: it is new, and its other fields are to be filled.  */
static inline uint32_t
gompy_race_site (struct gompy_races *r, void *unit, uint32_t line, int *fresh)
{
  const struct gompy_race_site *last = &r->sites[r->last_site];
  uint32_t at = gompy_hash_site (unit, line) & (4 * GOMPY_RACE_SITES - 1);
  *fresh = 0;
  if (last->unit == unit && last->line == line)
    return r->last_site;
  for (; r->site_table[at]; at = (at + 1) & (4 * GOMPY_RACE_SITES - 1))
    {
      uint32_t site = r->site_table[at] - 1;
      if (r->sites[site].unit == unit && r->sites[site].line == line)
        return r->last_site = site;
    }
  if (r->nsites == GOMPY_RACE_SITES)
    return 0;
  r->site_table[at] = r->nsites + 1;
  r->sites[r->nsites] = (struct gompy_race_site) { unit, line, 0, 0 };
  *fresh = 1;
  return r->last_site = r->nsites++;
}

/* Units of a module that goes: their places are nobody's.  */
static void
gompy_race_forget_sites (struct gompy_races *r)
{
  memset (r->sites, 0, GOMPY_RACE_SITES * sizeof *r->sites);
  memset (r->site_table, 0, 4 * GOMPY_RACE_SITES * sizeof *r->site_table);
  r->nsites = 1;
  r->last_site = 0;
  r->first_run = r->next_run; /* and what was touched there is forgotten */
}

/* Whether two accesses of one word conflict: of the same bytes, not both atomic, in this launch, not ordered.  */
static inline int
gompy_race_conflict (struct gompy_races *r, const struct gompy_touch *touch, uint32_t who, int in_shared, int in_step)
{
  if (touch->run < r->first_run || (in_shared && touch->run != r->run) || !(gompy_who_bytes (touch->who & who)))
    return 0;
  if (touch->who & who & GOMPY_WHO_STRONG)
    return 0;
  return !gompy_race_ordered (r, touch, gompy_who_warp (who), gompy_who_lane (who), in_step);
}

enum { GOMPY_WHO_THREAD = 0x7ff };      /* the bits of `who` that say which thread it is */

/* Remember a read.  */
static inline void
gompy_race_read (struct gompy_races *r, struct gompy_touched *word, uint32_t who)
{
  uint32_t warp = gompy_who_warp (who);
  if (word->read[0].run != r->run || (word->read[0].who ^ who) & GOMPY_WHO_THREAD)
    word->read[1] = word->read[0];
  word->read[0] = (struct gompy_touch) { r->run, r->knows[warp].of[warp], who };
}

/* One lane's access of one word.  Whether it races; FOUND says with what.  */
static inline int
gompy_race_word (struct gompy_races *r, struct gompy_touched *word, uint32_t who, int writes, int in_shared,
                 int in_step, struct gompy_race_found *found)
{
  uint32_t warp = gompy_who_warp (who);
  int races = 0;
  /* Old PTX reads words that others update by atomic operations with plain loads: there is no other load.  */
  int weak = in_step && !(who & GOMPY_WHO_STRONG) && !writes;
  if (!(weak && word->write.who & GOMPY_WHO_STRONG) && gompy_race_conflict (r, &word->write, who, in_shared, in_step)
      /* Lanes that write one word by one instruction: the word has the value of one of them.  */
      && !(writes && word->write.run == r->run && gompy_who_warp (word->write.who) == warp
           && gompy_who_site (word->write.who) == gompy_who_site (who)))
    {
      found->other = word->write;
      found->other_writes = 1;
      races = 1;
    }
  if (!writes)
    {
      gompy_race_read (r, word, who);
      return races;
    }
  for (int i = 0; i < 2 && !races; i++)
    if (!(in_step && who & GOMPY_WHO_STRONG && !(word->read[i].who & GOMPY_WHO_STRONG))
        && gompy_race_conflict (r, &word->read[i], who, in_shared, in_step))
      {
        found->other = word->read[i];
        found->other_writes = 0;
        races = 1;
      }
  word->write = (struct gompy_touch) { r->run, r->knows[warp].of[warp], who };
  for (int i = 0; i < 2; i++)
    if (!(gompy_who_bytes (word->read[i].who) & ~gompy_who_bytes (who)))
      word->read[i].run = 0; /* it came before this write, or has been told */
  return races;
}

/* The words' memory for an address: NULL for what is not looked at (local memory, none at all).  */
static inline struct gompy_touched *
gompy_race_place (struct gompy_races *r, uint64_t address, uint64_t shared_size, int *in_shared)
{
  uint64_t offset = address - r->base;
  *in_shared = 0;
  if (offset < r->size)
    return r->memory + offset / 4;
  offset = address - GOMPY_SHARED_BASE;
  *in_shared = 1;
  return offset < shared_size ? r->shared + offset / 4 : NULL;
}

/* An access of SIZE bytes by one lane.  Whether it races, then FOUND says how.  */
static inline int
gompy_race_one (struct gompy_races *r, uint64_t address, uint32_t size, uint32_t who, int writes, int in_step,
                uint64_t shared_size, struct gompy_race_found *found)
{
  int in_shared;
  struct gompy_touched *word = gompy_race_place (r, address, shared_size, &in_shared);
  if (!word)
    return 0;
  who |= size < 4 ? (((1u << size) - 1) << (address & 3) & 15) << 12 : 15u << 12;
  for (uint32_t done = 0; done < size; done += 4, word++)
    {
      /* As a rule the word was not written in this launch (in this block, if shared), or by this very thread.  */
      uint32_t since = in_shared ? r->run : r->first_run;
      int foreign
        = word->write.run >= since && (word->write.run != r->run || (word->write.who ^ who) & GOMPY_WHO_THREAD);
      if (!writes && !foreign)
        {
          gompy_race_read (r, word, who);
          continue;
        }
      if (gompy_race_word (r, word, who, writes, in_shared, in_step, found))
        {
          found->address = address + done;
          found->who = who;
          return 1;
        }
    }
  return 0;
}

/* An access by several lanes, from LANE on.  The lane that races, FOUND says how; or 32.  */
static int
gompy_race_lanes (struct gompy_races *r, uint32_t mask, const uint64_t *a, uint32_t size, uint32_t who, int writes,
                  int in_step, uint64_t shared_size, int lane, struct gompy_race_found *found)
{
  for (; lane < GOMPY_LANES; lane++)
    {
      if (!(mask >> lane & 1))
        continue;
      /* Of neighbours that read one word the first and the last are enough.  */
      if (!writes && lane && lane < GOMPY_LANES - 1 && (mask >> (lane - 1) & 7) == 7 && a[lane] == a[lane - 1]
          && a[lane] == a[lane + 1])
        continue;
      if (gompy_race_one (r, a[lane], size, who | (uint32_t) lane, writes, in_step, shared_size, found))
        return lane;
    }
  return GOMPY_LANES;
}

#endif
