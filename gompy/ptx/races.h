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
  GOMPY_RACE_BARRIERS = GOMPY_CLUSTER_BARRIER + 2, /* the block's 16; what is known at the cluster's, in turns */
  GOMPY_RACE_SITES = 65536,
  GOMPY_RACE_DEPTH = 32,                /* flags behind flags that are followed; what is behind counts as ordered */
  GOMPY_RACE_QUIET = 8,
  GOMPY_RACE_KNOWN = 64,                /* flags that a block has seen */
  GOMPY_RACE_BUSY = 16,                 /* notes, of lines that a loop accesses that hardly waits for anything */
  GOMPY_RACE_KEEPS_ON = 64,             /* turns that it may not take in a row */
  GOMPY_GAIN = 64                       /* the most that is counted of what putting off saves, or costs */
};

/* One access of a word.  `epoch`: of its warp then, 0: none.  `who`: bits 0-5 the lane (32: all, with one value), 6-10
   the warp, 11 strong, 12-15 the word's bytes, 16-31 the place in the program.  */
struct gompy_touch { int32_t epoch; uint32_t who; };

enum { GOMPY_WHO_ALL = 32, GOMPY_WHO_WARP = 31 << 6, GOMPY_WHO_STRONG = 1 << 11, GOMPY_WHO_THREAD = 0x7ff,
       GOMPY_WHO_READER = GOMPY_WHO_THREAD | GOMPY_WHO_STRONG };

static inline uint32_t gompy_who_lane (uint32_t who) { return who & 63; }
static inline uint32_t gompy_who_warp (uint32_t who) { return who >> 6 & 31; }
static inline uint32_t gompy_who_bytes (uint32_t who) { return who >> 12 & 15; }
static inline uint32_t gompy_who_site (uint32_t who) { return who >> 16; }

/* Whether an access, by all lanes of a warp or not (WAS), comes before one by all or not (IS) that WRITES or not, with
   nothing between: a lane reads what it wrote, as the others did.  Another lane's write may come before the reads and
   writes of the rest.  All behind all: the code does the same in each lane.  */
static inline int
gompy_all_first (int was, int is, int writes)
{
  return was && (!writes || is);
}

struct gompy_clocks { int32_t of[GOMPY_RACE_WARPS]; };

/* The blocks of a launch as they ran: the first epoch of each, and `home`, the block's first run.  It has several where
   blocks run together (race_grid.h).  */
struct gompy_run { int32_t first; uint32_t block, home; };
enum { GOMPY_STAMP = 1 << 22, GOMPY_SYNC = 1 << 15 }; /* a step of `stamp`, of `syncs` (race_marks.h) */
enum { GOMPY_EPOCH_NEW = 0xc000000, GOMPY_EPOCH_LAST = 0xffffff0 }; /* of 28 bits: struct gompy_line */


/* A place in PTX.  */
struct gompy_race_site { void *unit; uint32_t line, library, ways, alone; }; /* alone: its notes that had one word */

/* What is so of a place: a warp's lanes go in step; a plain load may be meant as an atomic one, as GCC writes them.  */
enum { GOMPY_IN_STEP = 1, GOMPY_PLAIN_READS = 2 };

enum { GOMPY_RACE_RECENT = 4096, GOMPY_RACE_PENDING = 32 };

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

enum { GOMPY_FLAG_LINES = 64 };

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
  uint32_t stream, number, device;
  uint64_t ticket, callers[2];
  void (*name_caller) (const uint64_t *callers, char *text, size_t size);
  void *function;
  const char *what;
  uint32_t grid[3], block[3];
};
enum { GOMPY_RACE_WORKS = 4096, GOMPY_RACE_RUNS = 1 << 22 };

/* What rows have touched of 32 words of shared memory since the last barrier of all: the mark of who has OWN, the lane
   that of the first word; which of these are written; what other lanes of that warp, what other warps have read.  */
enum { GOMPY_STRIP = 32 };
struct gompy_strip { uint32_t owner, own, written, wide, others; };

/* What is remembered of a window of memory.  */
struct gompy_space { struct gompy_line *lines; struct gompy_words *words; };

/* What is known of a block as far as it has run: of its warps, and of what came before elsewhere.  */
#define GOMPY_BLOCK_FIELDS                                                                                             \
  uint32_t block, self;                 /* its number; its first run, of r->runs */                                    \
  uint32_t forgets;                     /* of the races: how often all was forgotten before what stands here */        \
  int32_t shared_first;                 /* what was in shared memory before that is over */                            \
  struct gompy_clocks knows[GOMPY_RACE_WARPS];                                                                         \
  struct gompy_clocks fenced[GOMPY_RACE_WARPS];                                                                        \
  uint8_t has_fenced[GOMPY_RACE_WARPS];                                                                                \
  struct gompy_clocks meeting[GOMPY_RACE_BARRIERS], meeting_fenced[GOMPY_RACE_BARRIERS]; /* at each barrier */         \
  uint8_t meeting_has_fenced[GOMPY_RACE_BARRIERS];                                                                     \
  uint32_t met;                         /* a bit for each barrier that something is known at; else all is 0 */         \
  uint32_t leavers[GOMPY_RACE_BARRIERS];                                                                               \
  struct gompy_flag_seen seen[GOMPY_RACE_KNOWN];                                                                       \
  uint32_t nseen;                                                                                                      \
  struct gompy_flag_seen pending[GOMPY_RACE_WARPS][GOMPY_RACE_PENDING]; /* read, no fence since */                     \
  uint32_t npending[GOMPY_RACE_WARPS];                                                                                 \
  uint32_t arrivals, passed;            /* at the grid's barrier (race_grid.h); of these, it is known to be behind */  \
  uint32_t passing;                     /* warps that have read that all have come, no fence since */                  \
  struct gompy_space shared;

struct gompy_block_known { GOMPY_BLOCK_FIELDS };

/* A barrier of all blocks: who has come, and what each knew then.  */
struct gompy_grid_phase
{
  uint32_t number, arrived, nseen;
  struct gompy_flag_seen seen[GOMPY_RACE_KNOWN];
  struct gompy_clocks *clocks;          /* of each block */
};

enum { GOMPY_GRID_PHASES = 4 };

/* Blocks that run together.  */
struct gompy_grid { uint64_t word; uint32_t nblocks; struct gompy_grid_phase phases[GOMPY_GRID_PHASES]; };

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
  struct { uint64_t low, size; } quiet[GOMPY_RACE_QUIET]; /* blocks that this launch only reads, so far as is known */
  uint32_t nquiet;
  int32_t ordered_before;               /* what all warps of this block know of each other */
  struct gompy_run *runs;
  uint32_t nruns, runs_room;
  uint32_t nwarps;
  union
  {
    struct { GOMPY_BLOCK_FIELDS };
    struct gompy_block_known known;     /* the same as one */
  };
  uint32_t visit;
  uint32_t nforgets;                    /* how often all was forgotten */
  struct gompy_grid *grid;              /* of the launch, if its blocks run together */
  uint64_t shared_size;
  uint32_t *marks;                      /* of its words (race_marks.h), and how many there is room for: */
  uint32_t nmarks, stamp;               /* stamp: since the last barrier of all; syncs of lanes, by warp: */
  uint32_t syncs[GOMPY_RACE_WARPS];
  struct gompy_strip *strips;           /* the same of 32 words each (race_strips.h); whether they are kept, not the
                                           words', and barriers until they are tried again: */
  uint32_t by_strips, strips_rest;
  struct gompy_later *later;            /* accesses of it that are put off (race_later.h) */
  uint64_t (*later_lanes)[GOMPY_RACE_WARPS]; /* addresses of some of them */
  uint32_t nlater, nlater_lanes;
  void (*row) (struct gompy_warp *, uint32_t, uint64_t, uint64_t, uint32_t, void *, uint32_t); /* op_race_row */
  int32_t gain, puts_off;               /* what it has saved; whether it is done until the next barrier of all */
  int watched;                          /* stores are to be told: nothing is put off */
  struct gompy_space memory;            /* of the window of device memory at `base` */
  int unsettled;                        /* races are kept of which it is not known yet whether they are told */
  uint64_t *read;                       /* of its lines (race_read.h) */
  int scattered;                        /* lanes have gone their own ways there */
  uint64_t base, size;
  struct gompy_flag **flags;            /* a hash table: a power of two of chains */
  uint32_t flag_bits, nflags;
  uint32_t own_flags;                   /* of these: that no earlier block has written */
  int heard;                            /* a block of this launch has read what another one wrote to some flag */
  uint64_t judged;                      /* the address of the word that is looked at */
  uint64_t counter;                     /* libgomp's, which orders nothing, or 0 */
  uint64_t *flag_lines;                 /* GOMPY_FLAG_LINES, behind the notes: a bit for some lines of memory each:
                                           they may have some */
  struct gompy_flags_chunk *chunks, *filling; /* those behind `filling` are empty */
  struct gompy_note *notes;             /* GOMPY_RACE_NOTES */
  uint16_t noted[GOMPY_RACE_NOTES];     /* the numbers of those in use */
  uint64_t note_lines[64];              /* a bit for some lines of memory each: they may have some */
  uint32_t nnoted, kept_on;             /* kept_on: turns that were not taken while they were there */
  void *noting;                         /* whose they are: a warp's, and these lanes' */
  uint32_t noting_lanes;
  void (*end_notes) (struct gompy_races *);
  struct gompy_race_site *sites;
  uint32_t nsites;
  uint32_t recent[GOMPY_RACE_RECENT];   /* places, by parts of their units' addresses and lines */
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

/* --- places ------------------------------------------------------------------------------------------------------- */

/* Where the number of a place may be, or another's.  */
static inline uint32_t *
gompy_race_recent (struct gompy_races *r, const void *unit, uint32_t line)
{
  return &r->recent[(line + ((uintptr_t) unit >> 4) * 0x9e3779b1) % GOMPY_RACE_RECENT];
}

/* The number of a place in PTX, 0 if there are too many; *FRESH: it is new, and its other fields are to be filled.  */
static inline uint32_t
gompy_race_site (struct gompy_races *r, void *unit, uint32_t line, int *fresh)
{
  uint32_t *recent = gompy_race_recent (r, unit, line), at;
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
  r->sites[r->nsites] = (struct gompy_race_site) { unit, line, 0, 0, 0 };
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
