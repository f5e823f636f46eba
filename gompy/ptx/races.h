/* Races between the threads of a kernel (GOMPY_CHECK=race): who touched each word last, and what came before what.

   Judged by what orders two accesses, not by who happened to come first: barriers, __syncwarp, and fences with atomic
   operations (PTX ISA, "Memory Consistency Model").  A warp has a vector clock over its block's warps; a barrier joins
   those of the warps that meet at it.  Between blocks there is order only where one has passed a fence and written an
   atomic word, and the other has read that word (struct gompy_flag).  Before sm_70 the lanes of a warp go in step.

   The clocks of all warps of all blocks are one number that only grows, the epoch: who has it last cannot be before
   who had it earlier.  So an epoch tells the block, what came before the launch, and what all warps of a block have met
   behind (ordered_before) by one compare each.

   A word of memory remembers its last write and its last two reads in this launch (race_words.h).  So a race with an
   older read can be missed.  What is told is a race by the model, whatever came of it in this run.

   Kernels with this check run one after the other, each on one host thread: nothing here is shared.  */
#ifndef GOMPY_PTX_RACES_H
#define GOMPY_PTX_RACES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gompy/native/ptx.h"
#include "race_words.h"

enum
{
  GOMPY_RACE_WARPS = 32,
  GOMPY_RACE_SITES = 65536,
  GOMPY_RACE_DEPTH = 32,                /* flags behind flags that are followed; what is behind counts as ordered */
  GOMPY_RACE_KNOWN = 64                 /* flags that a block has seen */
};

/* One access of a word.  `epoch`: of its warp then, 0: none.  `who`: bits 0-5 the lane (32: all, with one value), 6-10
   the warp, 11 strong, 12-15 the word's bytes, 16-31 the place in the program.  */
struct gompy_touch { int32_t epoch; uint32_t who; };

enum { GOMPY_WHO_ALL = 32, GOMPY_WHO_STRONG = 1 << 11, GOMPY_WHO_THREAD = 0x7ff };

static inline uint32_t gompy_who_lane (uint32_t who) { return who & 63; }
static inline uint32_t gompy_who_warp (uint32_t who) { return who >> 6 & 31; }
static inline uint32_t gompy_who_bytes (uint32_t who) { return who >> 12 & 15; }
static inline uint32_t gompy_who_site (uint32_t who) { return who >> 16; }

struct gompy_clocks { int32_t of[GOMPY_RACE_WARPS]; };

/* The blocks of a launch as they ran: the first epoch of each.  */
struct gompy_run { int32_t first; uint32_t block; };
enum { GOMPY_EPOCH_NEW = 0x60000000, GOMPY_EPOCH_LAST = 0x7ffffff0 };


/* A place in PTX.  */
struct gompy_race_site { void *unit; uint32_t line; uint32_t library; uint32_t in_step; };

/* An atomic word that somebody has written behind a fence: what is known to who reads it.  */
struct gompy_flag_block { uint32_t run, since; struct gompy_clocks clocks; }; /* run: of r->runs */
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
  int32_t epoch;                        /* the newest */
  int32_t launch_first, run_first;      /* of this launch, of this block */
  int32_t ordered_before;               /* what all warps of this block know of each other */
  struct gompy_run *runs;
  uint32_t nruns, runs_room;
  uint32_t nwarps;
  struct gompy_clocks knows[GOMPY_RACE_WARPS];
  struct gompy_clocks fenced[GOMPY_RACE_WARPS];
  uint8_t has_fenced[GOMPY_RACE_WARPS];
  struct gompy_clocks meeting[16], meeting_fenced[16]; /* at each barrier */
  uint8_t meeting_has_fenced[16];
  uint32_t leavers[16];
  struct gompy_flag_seen seen[GOMPY_RACE_KNOWN];
  uint32_t nseen, visit;
  struct gompy_words *shared;
  size_t shared_groups;
  struct gompy_words *memory;           /* of the window of device memory at `base` */
  uint64_t base, size;
  struct gompy_flag *flags[1024];
  struct gompy_race_site *sites;
  uint32_t nsites, last_site;
  uint32_t *site_table;                 /* hash of (unit, line) -> site + 1 */
};

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
    munmap (r->memory, gompy_words_size (r->size));
  r->memory = NULL;
}

/* Memory for what is remembered of a window; 0, or -1 for lack of memory.  Only what is touched takes any.  */
static int
gompy_race_window (struct gompy_races *r, uint64_t base, uint64_t size)
{
  if (r->memory && r->base == base && r->size == size)
    return 0;
  gompy_race_unmap (r);
  void *memory = mmap (NULL, gompy_words_size (size), PROT_READ | PROT_WRITE,
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
  r->epoch = 1;
  r->nsites = 1; /* 0: places beyond those that can be told apart */
  if (r->sites && r->site_table)
    return r;
  free (r->sites);
  free (r->site_table);
  free (r);
  return NULL;
}

/* The numbers begin anew, and all that was touched is forgotten.  */
static void
gompy_race_forget (struct gompy_races *r)
{
  if (r->memory)
    madvise (r->memory, gompy_words_size (r->size), MADV_DONTNEED);
  if (r->shared)
    memset (r->shared, 0, r->shared_groups * sizeof *r->shared);
  r->epoch = 1;
  r->launch_first = 1;
  r->nruns = 0;
}

static inline int32_t
gompy_race_epoch (struct gompy_races *r)
{
  return r->epoch += r->epoch < GOMPY_EPOCH_LAST;
}

/* Begin a launch; 0, or -1 for lack of memory.  */
static int
gompy_race_launch (struct gompy_races *r, uint64_t base, uint64_t size)
{
  gompy_race_forget_flags (r);
  if (gompy_race_window (r, base, size))
    return -1;
  r->launch_first = gompy_race_epoch (r);
  r->nruns = 0;
  return 0;
}

/* Begin a block; 0, or -1 for lack of memory.  */
static int
gompy_race_block (struct gompy_races *r, uint64_t block, uint32_t nwarps, uint64_t shared)
{
  size_t groups = gompy_words_size (shared) / sizeof *r->shared;
  if (groups > r->shared_groups)
    {
      free (r->shared);
      r->shared_groups = 0;
      r->shared = aligned_alloc (sizeof (gompy_words_of), groups * sizeof *r->shared);
      if (!r->shared)
        return -1;
      memset (r->shared, 0, groups * sizeof *r->shared);
      r->shared_groups = groups;
    }
  if (r->epoch > GOMPY_EPOCH_NEW)
    {
      gompy_race_forget_flags (r);
      gompy_race_forget (r);
    }
  if (r->nruns == r->runs_room)
    {
      uint32_t room = 2 * r->runs_room + 64;
      void *more = realloc (r->runs, room * sizeof *r->runs);
      if (!more)
        return -1;
      r->runs = more;
      r->runs_room = room;
    }
  r->run_first = r->ordered_before = gompy_race_epoch (r);
  r->runs[r->nruns++] = (struct gompy_run) { r->run_first, (uint32_t) block };
  r->nseen = 0;
  r->nwarps = nwarps;
  memset (r->knows, 0, nwarps * sizeof *r->knows);
  memset (r->fenced, 0, nwarps * sizeof *r->fenced);
  memset (r->has_fenced, 0, sizeof r->has_fenced);
  memset (r->meeting, 0, sizeof r->meeting);
  memset (r->meeting_fenced, 0, sizeof r->meeting_fenced);
  memset (r->meeting_has_fenced, 0, sizeof r->meeting_has_fenced);
  memset (r->leavers, 0, sizeof r->leavers);
  for (uint32_t w = 0; w < nwarps; w++)
    r->knows[w].of[w] = r->run_first;
  return 0;
}

/* Which of this launch's runs an epoch is of.  */
static inline uint32_t
gompy_race_run (const struct gompy_races *r, int32_t epoch)
{
  uint32_t low = 0, high = r->nruns;
  while (high - low > 1)
    {
      uint32_t middle = low + (high - low) / 2;
      if (r->runs[middle].first <= epoch)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* And its block.  */
static inline uint32_t
gompy_race_block_of (const struct gompy_races *r, int32_t epoch)
{
  return r->runs[gompy_race_run (r, epoch)].block;
}

/* Device memory that has a new owner (malloc in a kernel).  */
static void
gompy_race_fresh (struct gompy_races *r, uint64_t address, uint64_t size)
{
  if (r->memory && address - r->base < r->size)
    for (uint64_t word = (address - r->base) / 4, end = word + (size + 3) / 4; word < end; word++)
      gompy_word_forget (gompy_word_at (r->memory, word));
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
  r->knows[warp].of[warp] = gompy_race_epoch (r); /* what bar.arrive's warp does next is unknown to the others */
}

/* It goes on behind it.  */
static void
gompy_race_leave (struct gompy_races *r, uint32_t warp, uint32_t number)
{
  r->leavers[number]++;
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
  if (r->leavers[number] == r->nwarps)
    {
      r->ordered_before = gompy_race_epoch (r);
      for (uint32_t w = 0; w < r->nwarps; w++)
        r->knows[w].of[w] = r->ordered_before;
    }
  r->leavers[number] = 0;
  memset (&r->meeting[number], 0, sizeof r->meeting[number]);
  memset (&r->meeting_fenced[number], 0, sizeof r->meeting_fenced[number]);
  r->meeting_has_fenced[number] = 0;
}

/* bar.warp.sync: the lanes' accesses before it come before those behind it.  (Also of lanes outside of its mask.)  */
static void
gompy_race_warp_sync (struct gompy_races *r, uint32_t warp)
{
  r->knows[warp].of[warp] = gompy_race_epoch (r);
}

/* membar, fence.  */
static void
gompy_race_fence (struct gompy_races *r, uint32_t warp)
{
  gompy_clocks_join (&r->fenced[warp], &r->knows[warp]);
  r->has_fenced[warp] = 1;
  r->knows[warp].of[warp] = gompy_race_epoch (r);
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
  if (flag->count && flag->blocks[flag->count - 1].run == r->nruns - 1)
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
      block->run = r->nruns - 1;
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
  if (flag->count && flag->blocks[flag->count - 1].run == r->nruns - 1)
    gompy_clocks_join (&r->knows[warp], &flag->blocks[flag->count - 1].clocks);
  gompy_race_saw (r->seen, &r->nseen, GOMPY_RACE_KNOWN, flag);
}

static int
gompy_flag_tells (struct gompy_races *r, const struct gompy_flag_seen *seen, const struct gompy_touch *touch,
                  uint32_t run, int depth)
{
  struct gompy_flag *flag = seen->flag;
  if (flag->visited == r->visit)
    return 0;
  flag->visited = r->visit;
  if (depth == GOMPY_RACE_DEPTH)
    return 1;
  for (uint32_t i = 0; i < flag->count; i++)
    if (flag->blocks[i].run == run)
      {
        if (flag->blocks[i].since <= seen->version
            && flag->blocks[i].clocks.of[gompy_who_warp (touch->who)] >= touch->epoch)
          return 1;
        break;
      }
  for (uint32_t i = 0; i < flag->nbehind; i++)
    if (gompy_flag_tells (r, &flag->behind[i], touch, run, depth + 1))
      return 1;
  return 0;
}

/* Whether an access of another block is known to come before this one's.  */
static __attribute__ ((noinline)) int
gompy_race_told (struct gompy_races *r, const struct gompy_touch *touch)
{
  uint32_t run = gompy_race_run (r, touch->epoch);
  r->visit++;
  if (r->nseen == GOMPY_RACE_KNOWN)
    return 1; /* more than can be remembered */
  for (uint32_t i = 0; i < r->nseen; i++)
    if (gompy_flag_tells (r, &r->seen[i], touch, run, 0))
      return 1;
  return 0;
}

/* Whether an access comes before one of a warp's lane, by what orders them.  */
static inline int
gompy_race_ordered (struct gompy_races *r, const struct gompy_touch *touch, uint32_t warp, uint32_t lane, int in_step)
{
  uint32_t other = gompy_who_warp (touch->who), its = gompy_who_lane (touch->who);
  if (touch->epoch < r->run_first)
    return gompy_race_told (r, touch);
  if (other != warp)
    return touch->epoch <= r->knows[warp].of[other];
  if (in_step || its == lane || its == GOMPY_WHO_ALL || lane == GOMPY_WHO_ALL)
    return 1;
  return touch->epoch < r->knows[warp].of[warp];
}

/* --- places ------------------------------------------------------------------------------------------------------- */

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

/* Units of a module that goes: their places are nobody's.  What was touched there is of earlier launches.  */
static void
gompy_race_forget_sites (struct gompy_races *r)
{
  memset (r->sites, 0, GOMPY_RACE_SITES * sizeof *r->sites);
  memset (r->site_table, 0, 4 * GOMPY_RACE_SITES * sizeof *r->site_table);
  r->nsites = 1;
  r->last_site = 0;
}

#endif
