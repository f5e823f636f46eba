/* Races between the threads of a kernel (GOMPY_CHECK=race): who touched each word last, and what came before what.

   Judged by what orders two accesses, not by who happened to come first: barriers, __syncwarp, and fences with atomic
   operations (PTX ISA, "Memory Consistency Model").  A warp has a vector clock over its block's warps; a barrier joins
   those of the warps that meet at it.  Between blocks there is order only where one has passed a fence and written an
   atomic word, and the other has read that word (struct gompy_flag).  Before sm_70 the lanes of a warp go in step.

   The clocks of all warps of all blocks are one number that only grows, the epoch: who has it last cannot be before
   who had it earlier.  So an epoch tells the block, what came before the launch, and what all warps of a block have met
   behind (ordered_before) by one compare each.

   A word of memory remembers its last write and its last two reads in this launch (race_words.h), or more of them where
   lanes go together (race_lines.h).  So a race with an older read can be missed.  What is told is a race by the model,
   whatever came of it in this run.

   Kernels with this check run one after the other, each on one host thread: nothing here is shared.  Those of several
   streams, and copies, are held against each other by what the driver says of their order (race_streams.h).  */
#ifndef GOMPY_PTX_RACES_H
#define GOMPY_PTX_RACES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "executor.h"
#include "gompy/native/ptx.h"
#include "race_words.h"

enum
{
  GOMPY_RACE_WARPS = 32,
  GOMPY_RACE_SITES = 65536,
  GOMPY_RACE_DEPTH = 32,                /* flags behind flags that are followed; what is behind counts as ordered */
  GOMPY_RACE_KNOWN = 64,                /* flags that a block has seen */
  GOMPY_GAIN = 64                       /* the most that is counted of what putting off saves, or costs */
};

/* One access of a word.  `epoch`: of its warp then, 0: none.  `who`: bits 0-5 the lane (32: all, with one value), 6-10
   the warp, 11 strong, 12-15 the word's bytes, 16-31 the place in the program.  */
struct gompy_touch { int32_t epoch; uint32_t who; };

enum { GOMPY_WHO_ALL = 32, GOMPY_WHO_WARP = 31 << 6, GOMPY_WHO_STRONG = 1 << 11, GOMPY_WHO_THREAD = 0x7ff };

static inline uint32_t gompy_who_lane (uint32_t who) { return who & 63; }
static inline uint32_t gompy_who_warp (uint32_t who) { return who >> 6 & 31; }
static inline uint32_t gompy_who_bytes (uint32_t who) { return who >> 12 & 15; }
static inline uint32_t gompy_who_site (uint32_t who) { return who >> 16; }

struct gompy_clocks { int32_t of[GOMPY_RACE_WARPS]; };

/* The blocks of a launch as they ran: the first epoch of each.  */
struct gompy_run { int32_t first; uint32_t block; };
enum { GOMPY_STAMP = 1 << 22, GOMPY_SYNC = 1 << 15 }; /* a step of `stamp`, of `syncs` (race_marks.h) */
enum { GOMPY_EPOCH_NEW = 0xc000000, GOMPY_EPOCH_LAST = 0xffffff0 }; /* of 28 bits: struct gompy_line */


/* A place in PTX.  */
struct gompy_race_site { void *unit; uint32_t line; uint32_t library; uint32_t ways; };

/* What is so of a place: a warp's lanes go in step; a plain load may be meant as an atomic one, as GCC writes them.  */
enum { GOMPY_IN_STEP = 1, GOMPY_PLAIN_READS = 2 };

enum { GOMPY_RACE_RECENT = 256, GOMPY_RACE_PENDING = 32 };

/* An atomic word that somebody has written behind a fence: what is known to who reads it.  */
struct gompy_flag_block { uint32_t run, since; struct gompy_clocks clocks; }; /* run: of r->runs */
struct gompy_flag_seen { struct gompy_flag *flag; uint32_t version, run; }; /* RUN: of who saw it; that and more: ~0 */
struct gompy_flag
{
  struct gompy_flag *next;
  uint64_t address;
  uint32_t version, count, room, nbehind;
  struct gompy_flag_block *blocks;
  struct gompy_flag_seen behind[8];     /* what the writers had read */
  uint32_t visited, visited_version;    /* by which question, as seen at which version at most */
  struct gompy_flag_block one;          /* room for the first block */
};

/* Flags are of one launch.  */
enum { GOMPY_FLAGS_CHUNK = 128 };
struct gompy_flags_chunk { struct gompy_flags_chunk *next; uint32_t used; struct gompy_flag flags[GOMPY_FLAGS_CHUNK]; };

/* What a place of the program has accessed of a line of memory since the last step in order of its warp: the line's
   bytes, a bit for each (race_notes.h).  */
struct gompy_note
{
  GOMPY_NOTE_FIELDS
  uint32_t site, writes;
  uint64_t unused[3];
  char old[GOMPY_NOTE_BYTES];           /* the line, before it was written */
};

GOMPY_CHECK_NOTE (struct gompy_note)
_Static_assert (sizeof (struct gompy_note) == GOMPY_NOTE_SIZE, "gompy/native/ptx.h has another size");

/* An operation of a stream: a launch, or (FUNCTION is NULL) WHAT; since when its accesses are remembered.  */
struct gompy_work
{
  int32_t first;
  uint32_t stream, number;
  uint64_t ticket, callers[2];
  void (*name_caller) (const uint64_t *callers, char *text, size_t size);
  void *function;
  const char *what;
  uint32_t grid[3], block[3];
};
enum { GOMPY_RACE_WORKS = 4096, GOMPY_RACE_RUNS = 1 << 22 };

/* What is remembered of a window of memory.  */
struct gompy_space { struct gompy_line *lines; struct gompy_words *words; };

struct gompy_warp;

struct gompy_races
{
  int32_t epoch;                        /* the newest */
  int32_t launch_first, run_first;      /* of what may race with this launch, of this block */
  int32_t own_first;                    /* of this launch: before that are other streams */
  int32_t settled;                      /* what is before that comes before this launch */
  const ptx_order *order;               /* what comes before it there; NULL: all */
  struct gompy_work work, *works;       /* this one; those that may race with it, itself the last */
  uint32_t nworks;
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
  struct gompy_flag_seen pending[GOMPY_RACE_WARPS][GOMPY_RACE_PENDING]; /* read, no fence since */
  uint32_t npending[GOMPY_RACE_WARPS];
  struct gompy_space shared;
  uint64_t shared_size;
  uint32_t *marks;                      /* of its words (race_marks.h), and how many there is room for: */
  uint32_t nmarks, stamp;               /* stamp: since the last barrier of all; syncs of lanes, by warp: */
  uint32_t syncs[GOMPY_RACE_WARPS];
  struct gompy_later *later;            /* accesses of it that are put off (race_later.h) */
  uint64_t (*later_lanes)[GOMPY_RACE_WARPS]; /* addresses of some of them */
  uint32_t nlater, nlater_lanes;
  void (*row) (struct gompy_warp *, uint32_t, uint64_t, uint64_t, uint32_t, void *, uint32_t); /* op_race_row */
  int32_t gain, puts_off;               /* what it has saved; whether it is done until the next barrier of all */
  int watched;                          /* stores are to be told: nothing is put off */
  struct gompy_space memory;            /* of the window of device memory at `base` */
  uint64_t base, size;
  struct gompy_flag **flags;            /* a hash table: a power of two of chains */
  uint32_t flag_bits, nflags;
  uint64_t flag_lines[64];              /* a bit for some lines of memory each: they may have some */
  struct gompy_flags_chunk *chunks, *filling; /* those behind `filling` are empty */
  struct gompy_note *notes;             /* GOMPY_RACE_NOTES */
  uint16_t noted[GOMPY_RACE_NOTES];     /* the numbers of those in use */
  uint32_t nnoted;
  void *noting;                         /* whose they are: a warp's, and these lanes' */
  uint32_t noting_lanes;
  void (*end_notes) (struct gompy_races *);
  struct gompy_race_site *sites;
  uint32_t nsites;
  uint32_t recent[GOMPY_RACE_RECENT];   /* places by the last bits of their lines */
  uint32_t *site_table;                 /* hash of (unit, line) -> site + 1 */
};

static inline uint32_t
gompy_hash_site (const void *unit, uint32_t line)
{
  uint64_t h = ((uint64_t) (uintptr_t) unit >> 4) * 0x9e3779b97f4a7c15ull + line * 0xff51afd7ed558ccdull;
  return (uint32_t) (h >> 40);
}

static inline uint64_t
gompy_flag_chain (uint64_t address, uint32_t bits)
{
  return (address >> 2) * 0x9e3779b97f4a7c15ull >> (64 - bits);
}

/* --- a launch, a block ----------------------------------------------------------------------------------------- */

static void
gompy_race_forget_flags (struct gompy_races *r)
{
  for (struct gompy_flags_chunk *chunk = r->chunks; chunk && chunk->used; chunk = chunk->next)
    {
      for (uint32_t i = 0; i < chunk->used; i++)
        {
          struct gompy_flag *flag = &chunk->flags[i];
          r->flags[gompy_flag_chain (flag->address, r->flag_bits)] = NULL;
          if (flag->blocks != &flag->one)
            free (flag->blocks);
        }
      chunk->used = 0;
    }
  r->filling = r->chunks;
  if (r->nflags)
    memset (r->flag_lines, 0, sizeof r->flag_lines);
  r->nflags = 0;
}

static void
gompy_space_unmap (struct gompy_space *space, uint64_t size)
{
  if (space->lines)
    munmap (space->lines, gompy_lines_size (size));
  if (space->words)
    munmap (space->words, gompy_words_size (size));
  *space = (struct gompy_space) { NULL, NULL };
}

/* Only what is touched takes any memory.  0, or -1 for lack of it.  */
static int
gompy_space_map (struct gompy_space *space, uint64_t size)
{
  void *lines = mmap (NULL, gompy_lines_size (size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void *words = mmap (NULL, gompy_words_size (size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  space->lines = lines == MAP_FAILED ? NULL : lines;
  space->words = words == MAP_FAILED ? NULL : words;
  if (space->lines && space->words)
    {
      madvise (lines, gompy_lines_size (size), MADV_HUGEPAGE);
      madvise (words, gompy_words_size (size), MADV_HUGEPAGE);
      return 0;
    }
  gompy_space_unmap (space, size);
  return -1;
}

/* All that was touched is forgotten.  */
static void
gompy_space_forget (struct gompy_space *space, uint64_t size)
{
  if (!space->lines)
    return;
  madvise (space->lines, gompy_lines_size (size), MADV_DONTNEED);
  madvise (space->words, gompy_words_size (size), MADV_DONTNEED);
}

/* The numbers begin anew, and all that was touched is forgotten.  */
static void
gompy_race_forget (struct gompy_races *r)
{
  gompy_race_forget_flags (r);
  gompy_space_forget (&r->memory, r->size);
  gompy_space_forget (&r->shared, r->shared_size);
  r->epoch = 1;
  r->launch_first = r->own_first = r->settled = 1;
  r->nruns = r->nworks = 0;
  if (r->order && r->works)
    {
      r->works[r->nworks++] = r->work;
      r->works[0].first = 1;
    }
}

/* Memory for what is remembered of a window; 0, or -1 for lack of memory.  */
static int
gompy_race_window (struct gompy_races *r, uint64_t base, uint64_t size)
{
  if (r->memory.lines && r->base == base && r->size == size)
    return 0;
  gompy_space_unmap (&r->memory, r->size);
  r->base = base;
  r->size = size;
  r->nworks = 0;
  return gompy_space_map (&r->memory, size);
}

/* What is noted is remembered, before what orders it, and before other warps go on.  */
static inline void
gompy_race_end_notes (struct gompy_races *r)
{
  if (r->nnoted)
    r->end_notes (r);
}

static struct gompy_races *
gompy_race_new (void)
{
  struct gompy_races *r = calloc (1, sizeof *r);
  if (!r)
    return NULL;
  r->sites = calloc (GOMPY_RACE_SITES, sizeof *r->sites);
  r->site_table = calloc (4 * GOMPY_RACE_SITES, sizeof *r->site_table);
  r->notes = calloc (GOMPY_RACE_NOTES, sizeof *r->notes);
  r->flag_bits = 10;
  r->flags = calloc ((size_t) 1 << r->flag_bits, sizeof *r->flags);
  r->epoch = 1;
  r->nsites = 1; /* 0: places beyond those that can be told apart */
  if (r->sites && r->site_table && r->flags && r->notes)
    return r;
  free (r->notes);
  free (r->flags);
  free (r->sites);
  free (r->site_table);
  free (r);
  return NULL;
}

/* Shared memory is anew, or behind a barrier of all: what was there is over.  Where reads that were put off had mostly
   to be looked at after all, none are for some time.  */
static inline void
gompy_race_new_shared (struct gompy_races *r)
{
  r->gain += (int32_t) r->nlater + 1;
  if (r->gain > GOMPY_GAIN)
    r->gain = GOMPY_GAIN;
  r->puts_off = r->gain >= 0 && r->marks && !r->watched;
  r->nlater = r->nlater_lanes = 0;
  r->stamp += GOMPY_STAMP;
  if (!r->stamp && r->marks)
    {
      memset (r->marks, 0, r->nmarks * sizeof *r->marks);
      r->stamp = GOMPY_STAMP;
    }
}

/* No block has met another, no warp a fence or a barrier.  */
static void
gompy_race_new_order (struct gompy_races *r)
{
  r->nseen = 0;
  memset (r->knows, 0, r->nwarps * sizeof *r->knows);
  memset (r->fenced, 0, r->nwarps * sizeof *r->fenced);
  memset (r->has_fenced, 0, sizeof r->has_fenced);
  memset (r->npending, 0, sizeof r->npending);
  memset (r->meeting, 0, sizeof r->meeting);
  memset (r->meeting_fenced, 0, sizeof r->meeting_fenced);
  memset (r->meeting_has_fenced, 0, sizeof r->meeting_has_fenced);
  for (uint32_t w = 0; w < r->nwarps; w++)
    r->knows[w].of[w] = r->run_first;
}

/* A block has used up all numbers: it goes on as if it began here.  Races with what came before are missed.  */
static __attribute__ ((noinline)) void
gompy_race_anew (struct gompy_races *r)
{
  uint32_t block = r->nruns ? r->runs[r->nruns - 1].block : 0;
  gompy_race_forget (r);
  gompy_race_new_shared (r);
  r->run_first = r->ordered_before = ++r->epoch;
  if (r->runs)
    r->runs[r->nruns++] = (struct gompy_run) { r->run_first, block };
  gompy_race_new_order (r);
}

static inline int32_t
gompy_race_epoch (struct gompy_races *r)
{
  if (r->epoch >= GOMPY_EPOCH_LAST)
    gompy_race_anew (r);
  return ++r->epoch;
}

/* What of other streams may race with the operation that begins: not what comes before all that is still to come.
   Where that is too much none of it is looked at.  */
static void
gompy_race_follow (struct gompy_races *r)
{
  uint32_t over = 0;
  if (r->order && !r->works)
    r->works = calloc (GOMPY_RACE_WORKS, sizeof *r->works);
  while (r->order && over < r->nworks && r->works[over].ticket <= r->order->always[r->works[over].stream])
    over++;
  if (!r->order || !r->works || r->nworks == GOMPY_RACE_WORKS || r->nruns > GOMPY_RACE_RUNS)
    over = r->nworks;
  r->nworks -= over;
  if (over)
    memmove (r->works, r->works + over, r->nworks * sizeof *r->works);
  if (!r->nworks)
    r->nruns = 0;
  if (r->order && r->works)
    {
      r->work.first = r->own_first;
      r->works[r->nworks++] = r->work;
    }
  r->launch_first = r->nworks ? r->works[0].first : r->own_first;
  r->settled = r->own_first;
  for (uint32_t i = 0; i + 1 < r->nworks; i++)
    if (r->order->before[r->works[i].stream] < r->works[i].ticket)
      {
        r->settled = r->works[i].first;
        break;
      }
}

/* Begin a launch, or another operation.  ORDER and WORK: of a stream beside others, or NULL.  0, or -1 for lack of
   memory.  */
static int
gompy_race_launch (struct gompy_races *r, uint64_t base, uint64_t size, const ptx_order *order,
                   const struct gompy_work *work)
{
  gompy_race_forget_flags (r);
  while (r->nnoted) /* of a launch that failed */
    r->notes[r->noted[--r->nnoted]].line = 0;
  r->noting = NULL;
  r->order = NULL;
  if (gompy_race_window (r, base, size))
    return -1;
  r->own_first = gompy_race_epoch (r);
  if (order)
    r->work = *work;
  r->order = order;
  gompy_race_follow (r);
  return 0;
}

/* Marks for so many words; without memory for them nothing is put off.  */
static void
gompy_race_make_marks (struct gompy_races *r, uint64_t words)
{
  free (r->marks);
  r->marks = words >> 28 ? NULL : calloc (words, sizeof *r->marks);
  r->nmarks = r->marks ? (uint32_t) words : 0;
}

/* Begin a block; 0, or -1 for lack of memory.  */
static int
gompy_race_block (struct gompy_races *r, uint64_t block, uint32_t nwarps, uint64_t shared)
{
  if (shared > r->shared_size || !r->shared.lines)
    {
      gompy_space_unmap (&r->shared, r->shared_size);
      r->shared_size = shared;
      if (gompy_space_map (&r->shared, shared))
        return -1;
      gompy_race_make_marks (r, shared / 4 + 1);
    }
  if (r->epoch > GOMPY_EPOCH_NEW)
    gompy_race_forget (r);
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
  r->nwarps = nwarps;
  gompy_race_new_shared (r);
  memset (r->leavers, 0, sizeof r->leavers);
  gompy_race_new_order (r);
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
  if (!r->memory.lines || address - r->base >= r->size)
    return;
  gompy_race_end_notes (r);
  for (uint64_t word = (address - r->base) / 4, end = word + (size + 3) / 4; word < end; word++)
    {
      struct gompy_line *line = r->memory.lines + word / GOMPY_LINE;
      int left = 0;
      if (line->state || line->loose_read || line->loose_written)
        gompy_word_forget (gompy_word_at (r->memory.words, word));
      for (int i = 0; i < GOMPY_ROWS && line->rows[i].words; i++)
        if (line->rows[i].words &= ~(1u << word % GOMPY_LINE))
          line->rows[left++] = line->rows[i];
      if (left < GOMPY_ROWS)
        line->rows[left].words = 0;
    }
}

/* --- places ------------------------------------------------------------------------------------------------------- */

/* The number of a place in PTX, 0 if there are too many; *FRESH: it is new, and its other fields are to be filled.  */
static inline uint32_t
gompy_race_site (struct gompy_races *r, void *unit, uint32_t line, int *fresh)
{
  uint32_t *recent = &r->recent[line % GOMPY_RACE_RECENT], at;
  *fresh = 0;
  if (r->sites[*recent].unit == unit && r->sites[*recent].line == line)
    return *recent;
  at = gompy_hash_site (unit, line) & (4 * GOMPY_RACE_SITES - 1);
  for (; r->site_table[at]; at = (at + 1) & (4 * GOMPY_RACE_SITES - 1))
    {
      uint32_t site = r->site_table[at] - 1;
      if (r->sites[site].unit == unit && r->sites[site].line == line)
        return *recent = site;
    }
  if (r->nsites == GOMPY_RACE_SITES)
    return 0;
  r->site_table[at] = r->nsites + 1;
  r->sites[r->nsites] = (struct gompy_race_site) { unit, line, 0, 0 };
  *fresh = 1;
  return *recent = r->nsites++;
}

/* Units of a module that goes: their places are nobody's.  What was touched there is of earlier launches.  */
static void
gompy_race_forget_sites (struct gompy_races *r)
{
  memset (r->sites, 0, GOMPY_RACE_SITES * sizeof *r->sites);
  memset (r->site_table, 0, 4 * GOMPY_RACE_SITES * sizeof *r->site_table);
  r->nsites = 1;
  r->nworks = 0;
  memset (r->recent, 0, sizeof r->recent);
}

#endif
