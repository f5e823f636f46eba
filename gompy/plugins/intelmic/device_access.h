/* The device's side of -foffload-check: each access of a region's to the arena, as its image tells it (access.h).

   Bytes.  What is read must be written, what is used must be in use: the marks of protocol.h say so.

   Races.  Two accesses to one byte, one of them a write, are reported if nothing can have ordered them:

     teams: of one launch, as nothing orders these but what is counted as a release;
     threads of a team: between the same two barriers of one parallel region.

   A release may make known what its thread did before.  Of locks it is known to whom (device_locks.h, device_heard.h).
   Who has made another one since its access (an atomic operation or fence of that kind) is not judged by
   that access, nor is a team that has made any, if a thread of the other team may have come to know of something in
   the launch.  Nothing is looked at where an image orders its threads in ways that
   the hooks do not see.

   Each 8 bytes have a cell for their last write, one for their last read, one for the last read of another thread
   before that, as who reads what it writes would hide the others' reads otherwise, and one for an atomic write.  Each
   kilobyte has the first three as well, for accesses to all of it (device_ranges.h).  Included once, by
   device_access.pxi.  */
#ifndef GOMPY_DEVICE_ACCESS_H
#define GOMPY_DEVICE_ACCESS_H

#include "gompy/native/access.h"
#include <stdatomic.h>

/* A cell's word: which of the 8 bytes, which thread of its group, which interval between barriers, and the lower bits
   of how many releases the thread and its team had made.  */
#define MIC_CELL(mask, number, interval, own, team)                                                                    \
  ((uint64_t) (mask) | (uint64_t) (number) << 8 | (uint64_t) (interval) << 16 | (uint64_t) (own) << 40                 \
   | (uint64_t) (team) << 52)
#define MIC_INTERVALS (1u << 24)
#define MIC_RELEASES 4095u  /* from here on nothing is judged by what a thread does */
#define MIC_GROUP 256       /* threads of a group that are told apart */
#define MIC_AHEAD 4096      /* barriers of one group */

/* Each word and each place of code by itself: who writes at random has fewer lines of memory to fetch.  */
struct mic_cells
{
  _Atomic uint64_t *writes, *reads, *befores, *atomics;
  uint32_t *write_pcs, *read_pcs, *before_pcs, *atomic_pcs;  /* lower halves */
};

struct mic_block
{
  _Atomic uint64_t write, read, before;   /* of all its bytes, as a cell's */
  _Atomic uint64_t owner;                 /* who has used its cells in a launch (device_owned.h) */
  uint32_t write_pc, read_pc, before_pc;
  _Atomic uint32_t last_write, last_read, last_before; /* the last intervals that its cells have */
  _Atomic uint32_t good;                  /* the count of changes at which all its bytes were good, + 1 */
  _Atomic uint32_t atomics;               /* a launch that had atomic operations there */
  uint16_t bad, looks;                    /* a launch, its lower half, that did not find that; how often it was asked */
  _Atomic uint64_t kept[2], kept_word[2]; /* columns that its owner has read, and written (device_kept.h) */
} __attribute__ ((aligned (64)));         /* a line, which who goes anywhere fetches ahead */
#define MIC_BLOCK 1024u
#define MIC_GOOD_WORD (0x0101010101010101ull * MIC_MARK_GOOD) /* marks of 8 good bytes */
#define MIC_MARKS_AT_ONCE 512u
#define MIC_NEAR 16u /* bytes that are taken as written if one of them is */
#define MIC_GLANCES 32u  /* where a block was not good, one look in so many */

struct mic_access_team
{
  uint32_t launch;
  _Atomic uint16_t releases;
  _Atomic uint16_t wild;   /* those of them that anybody may know of */
  _Atomic uint32_t knows;  /* a thread of it has read a word by which it may know of such; 2: it may know of any */
  struct mic_heard *heard; /* of what it knows by locks (device_heard.h); NULL: nothing */
};

struct mic_group
{
  uint32_t team, floor;
  uint32_t id;                            /* 0: its threads have given no lock back */
  struct mic_group *next_locking;
  _Atomic uint16_t releases[MIC_GROUP];
  _Atomic uint16_t wild[MIC_GROUP];       /* those of them that anybody may know of */
  uint16_t *known[MIC_GROUP];             /* what each thread knows of the others' by locks; NULL: nothing */
  _Atomic uint32_t intervals[MIC_AHEAD];  /* 0: nobody has come so far */
};

extern int omp_get_thread_num (void);
extern struct gompy_access gompy_access;
struct gompy_access gompy_access;

static struct mic_cells mic_cells;
static struct mic_block *mic_blocks;
static const uint32_t *mic_changes;  /* of marks, by the host (protocol.h) */
static uint64_t mic_access_size;  /* of the arena */
static int mic_is_spread;  /* as the host's */
static uint32_t *mic_interval_team;
static struct mic_access_team *mic_access_teams;  /* as many as intervals */
static _Atomic uint32_t mic_last_interval, mic_last_team, mic_last_launch;
static __thread struct gompy_place mic_place;
static int mic_all_know;  /* a thread may know of others that belongs to no team as far as is known */
static int mic_former;    /* an image has hooks that do not tell when a thread may come to know of others */
static __thread unsigned mic_held;  /* locks, of images by former versions' hooks: these do not say which */
static __thread uint32_t mic_launch, mic_floor;  /* the last interval before the launch */

/* What a cell gets of the calling thread, less the bytes; 0: it is not followed, or holds a lock.  What others of its
   team release in between is not in it: then less is judged by it.  */
static __thread uint64_t mic_word;
static __thread uint32_t mic_word_floor, mic_word_launch;
static __thread int mic_walk_ends;  /* what others did happened beside it (device_walks.h) */
static __thread unsigned mic_firsts;  /* notes of its interval that are still to be exact (device_firsts.h) */

static inline int mic_settle (uint64_t offset);
static int mic_settle_block (uint64_t offset);
static void mic_count_launch (int change);
static void mic_keep_anew (void);
static void mic_end_walks (void);
static void mic_new_firsts (void);

#include "device_kept.h"
#include "device_owned.h"
#include "device_locks.h"

/* In device_access.pxi.  */
static void mic_access_found (unsigned mark, uint64_t address, const void *pc, uint64_t other);
static void mic_access_dies (uint64_t address, const void *pc);

static void *
mic_reserve (size_t size)
{
  void *p = mmap (NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  madvise (p, size, MADV_DONTDUMP);
  madvise (p, size, MADV_HUGEPAGE);  /* a gather touches all of it */
  return p;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static uint32_t
mic_new_interval (struct mic_group *group, unsigned barriers)
{
  uint32_t none = 0, number;
  if (barriers >= MIC_AHEAD)
    return 0;
  number = atomic_load (&group->intervals[barriers]);
  if (number != 0)
    return number;
  number = atomic_fetch_add (&mic_last_interval, 1) + 1;
  if (number >= MIC_INTERVALS)
    {
      atomic_store (&mic_last_interval, MIC_INTERVALS);
      return 0;  /* no more: from here on races are not looked for */
    }
  mic_interval_team[number] = group->team;
  return atomic_compare_exchange_strong (&group->intervals[barriers], &none, number) ? number : none;
}

static void
mic_new_word (void)
{
  struct mic_group *group = mic_place.group;
  mic_word = group == NULL || mic_place.interval == 0 || mic_held
               ? 0
               : MIC_CELL (0, mic_place.number, mic_place.interval, atomic_load (&group->releases[mic_place.number]),
                           atomic_load (&mic_access_teams[group->team].releases));
  mic_word_floor = group != NULL ? group->floor : 0;
  mic_word_launch = group != NULL ? mic_access_teams[group->team].launch : 0;
  mic_name_owner (mic_word_launch);
  mic_keep_anew ();
}

static void *
mic_access_fork (void)
{
  struct mic_group *outer = mic_place.group, *group;
  mic_end_walks ();
  if (outer == NULL || gompy_access.unordered || (group = calloc (1, sizeof *group)) == NULL)
    return NULL;
  group->team = outer->team;
  group->floor = outer->floor;
  mic_release_wild (outer);  /* threads of its own come to know, no other team */
  mic_new_word ();
  return group;
}

static void
mic_access_join (void *group)
{
  mic_free_group (group);
}

static void
mic_access_enter (void *group, struct gompy_place *before)
{
  mic_end_walks ();
  *before = mic_place;
  memset (&mic_place, 0, sizeof mic_place);
  mic_become_another ();
  mic_new_word ();
  if (group == NULL || omp_get_thread_num () >= MIC_GROUP)
    return;
  mic_place.group = group;
  mic_place.number = (uint8_t) omp_get_thread_num ();
  mic_place.interval = mic_new_interval (group, 0);
  mic_new_firsts ();
  mic_new_word ();
}

static void
mic_access_leave (const struct gompy_place *before)
{
  mic_end_walks ();
  mic_place = *before;
  mic_become_another ();
  mic_new_word ();
}

static void
mic_access_barrier (void)
{
  if (mic_place.group == NULL)
    return;
  mic_end_walks ();
  mic_place.interval = mic_new_interval (mic_place.group, ++mic_place.barriers);
  mic_new_firsts ();
  mic_new_word ();
}


static void
mic_access_release (void)
{
  struct mic_group *group = mic_place.group;
  if (group == NULL)
    return;
  mic_end_walks ();
  mic_release_wild (group);
  mic_release_team (&mic_access_teams[group->team]);
  mic_new_word ();
}

/* From here on the calling thread may know what others have done.  */
static void
mic_access_pause (void)
{
  struct mic_group *group = mic_place.group;
  mic_end_walks ();
  if (group == NULL)
    mic_all_know = 1;
  else if (!atomic_load_explicit (&mic_access_teams[group->team].knows, memory_order_relaxed))
    atomic_store (&mic_access_teams[group->team].knows, 1);
}

static void
mic_access_take (const void *lock)
{
  mic_end_walks ();
  if (mic_place.group != NULL)
    mic_take_lock (mic_place.group, (uintptr_t) lock);
  else
    mic_all_know = 1;
}

static void
mic_access_give (const void *lock)
{
  struct mic_group *group = mic_place.group;
  if (group == NULL)
    return;
  mic_end_walks ();
  mic_give_lock (group, (uintptr_t) lock);
  mic_new_word ();
}

static void
mic_access_hold (int change)
{
  mic_end_walks ();
  mic_held += (unsigned) change;
  mic_new_word ();
}

/* A region begins; threads that run its teams take its number over.  */
static void
mic_begin_launch (void)
{
  if (mic_cells.writes == NULL)
    return;
  mic_floor = atomic_load (&mic_last_interval);
  mic_launch = atomic_fetch_add (&mic_last_launch, 1) + 1;
  if (gompy_access.hooked & GOMPY_HOOKED_FORMERLY)
    mic_all_know = mic_former = 1;
  mic_count_launch (1);
}

/* It ends.  */
static void
mic_end_launch (void)
{
  mic_count_launch (-1);
}

static void
mic_end_team (void)
{
  mic_end_walks ();
  mic_forget_team (mic_place.group);
  mic_free_group (mic_place.group);
  memset (&mic_place, 0, sizeof mic_place);
  mic_new_word ();
}

/* The calling thread begins a team of its region.  */
static void
mic_begin_team (void)
{
  struct mic_group *group;
  uint32_t team;
  if (mic_cells.writes == NULL)
    return;
  mic_end_team ();
  mic_become_another ();
  mic_held = 0;
  team = atomic_fetch_add (&mic_last_team, 1) + 1;
  if (team >= MIC_INTERVALS || gompy_access.unordered || (group = calloc (1, sizeof *group)) == NULL)
    {
      if (team >= MIC_INTERVALS)
        atomic_store (&mic_last_team, MIC_INTERVALS);
      return;
    }
  mic_access_teams[team].launch = mic_launch;
  group->team = team;
  group->floor = mic_floor;
  mic_place.group = group;
  mic_place.interval = mic_new_interval (group, 0);
  mic_new_firsts ();
  mic_new_word ();
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */

/* Whether nothing can have ordered the access of a cell and that of the calling thread.  */
static int
mic_unordered (uint64_t cell, unsigned mask)
{
  struct mic_group *group = mic_place.group;
  uint32_t interval = cell >> 16 & 0xffffff, own = cell >> 40 & 0xfff, whole = cell >> 52, team;
  unsigned number = cell >> 8 & 0xff;
  if (!(cell & mask) || interval == 0)
    return 0;
  if (interval == mic_place.interval)
    return number != mic_place.number && (mic_walk_ends || !mic_may_know (group, number, own));
  team = mic_interval_team[interval];
  return team != group->team && mic_access_teams[team].launch == mic_access_teams[group->team].launch
         && (mic_walk_ends || !mic_team_may_know (&mic_access_teams[group->team], team, whole));
}

/* Whether this launch has had atomic operations in a block.  What is not atomic there is looked at cell by cell.  */
static inline int
mic_has_atomics (const struct mic_block *block)
{
  return atomic_load_explicit (&block->atomics, memory_order_relaxed) == mic_word_launch;
}

/* An access, MASK of the 8 bytes at AT, with what others did there.  */
static void
mic_race_at (struct mic_block *block, uint64_t at, unsigned mask, int writes, int is_atomic, const void *pc)
{
  uint64_t cell = at / 8;
  uint64_t other = (uintptr_t) pc & ~0xffffffffull, address = gompy_access.low + at + (unsigned) __builtin_ctz (mask);
  unsigned after_write = writes ? MIC_RACE_WRITE_WRITE : MIC_RACE_WRITE_READ;
  if (mic_unordered (atomic_load_explicit (&mic_cells.writes[cell], memory_order_relaxed), mask))
    mic_access_found (after_write, address, pc, other | mic_cells.write_pcs[cell]);
  else if (mic_unordered (atomic_load_explicit (&block->write, memory_order_relaxed), mask))
    mic_access_found (after_write, address, pc, other | block->write_pc);
  else if (!is_atomic && mic_has_atomics (block)
           && mic_unordered (atomic_load_explicit (&mic_cells.atomics[cell], memory_order_relaxed), mask))
    mic_access_found (after_write, address, pc, other | mic_cells.atomic_pcs[cell]);
  else if (writes && mic_unordered (atomic_load_explicit (&mic_cells.reads[cell], memory_order_relaxed), mask))
    mic_access_found (MIC_RACE_READ_WRITE, address, pc, other | mic_cells.read_pcs[cell]);
  else if (writes && mic_unordered (atomic_load_explicit (&block->read, memory_order_relaxed), mask))
    mic_access_found (MIC_RACE_READ_WRITE, address, pc, other | block->read_pc);
  else if (writes && mic_unordered (atomic_load_explicit (&mic_cells.befores[cell], memory_order_relaxed), mask))
    mic_access_found (MIC_RACE_READ_WRITE, address, pc, other | mic_cells.before_pcs[cell]);
  else if (writes && mic_unordered (atomic_load_explicit (&block->before, memory_order_relaxed), mask))
    mic_access_found (MIC_RACE_READ_WRITE, address, pc, other | block->before_pc);
}

/* Whether a word is of others, or of another interval, of the same launch, and of some of the bytes.  Here and in
   mic_note nothing branches by what a cell has: at random places that is not to be foreseen.  */
static inline int
mic_of_others (const _Atomic uint64_t *place, uint64_t mine, unsigned mask)
{
  uint64_t word = atomic_load_explicit (place, memory_order_relaxed);
  return (((word ^ mine) & ~0xffull) != 0) & ((word & mask) != 0) & ((word >> 16 & 0xffffff) > mic_word_floor);
}

/* Whether this launch has noted anything in the cells of a block.  */
static inline int
mic_has_cells (const _Atomic uint32_t *last)
{
  return atomic_load_explicit (last, memory_order_relaxed) > mic_word_floor;
}

/* Whether others have written any of a cell's bytes.  */
static inline int
mic_is_written (uint64_t cell, const struct mic_block *block, uint64_t mine, unsigned mask)
{
  return mic_of_others (&block->write, mine, mask)
         || (mic_has_cells (&block->last_write) && mic_of_others (&mic_cells.writes[cell], mine, mask));
}

/* Whether they have read any.  */
static inline int
mic_is_read (uint64_t cell, const struct mic_block *block, uint64_t mine, unsigned mask)
{
  return mic_of_others (&block->read, mine, mask) || mic_of_others (&block->before, mine, mask)
         || (mic_has_cells (&block->last_read) && mic_of_others (&mic_cells.reads[cell], mine, mask))
         || (mic_has_cells (&block->last_before) && mic_of_others (&mic_cells.befores[cell], mine, mask));
}

/* Whether a read that is noted already, and that another one is about to take the place of, is to be kept: it is
   another thread's, of the same launch.  */
static inline int
mic_is_anothers (uint64_t word, uint64_t mine)
{
  return ((word ^ mine) & ~0xffull) != 0 && (word >> 16 & 0xffffff) > mic_word_floor;
}

static void __attribute__ ((noinline))
mic_keep_before (uint64_t cell, struct mic_block *block, uint64_t word, uint32_t pc)
{
  uint32_t interval = word >> 16 & 0xffffff;
  mic_cells.before_pcs[cell] = pc;
  atomic_store_explicit (&mic_cells.befores[cell], word, memory_order_release);
  if (atomic_load_explicit (&block->last_before, memory_order_relaxed) < interval)
    atomic_store_explicit (&block->last_before, interval, memory_order_relaxed);
}

#include "device_firsts.h"

/* Note in a cell what the calling thread has done, which has come into the block.  */
static inline void
mic_note (uint64_t cell, struct mic_block *block, uint64_t mine, int writes, const void *pc)
{
  _Atomic uint64_t *place = &(writes ? mic_cells.writes : mic_cells.reads)[cell];
  _Atomic uint32_t *last = writes ? &block->last_write : &block->last_read;
  uint64_t word = atomic_load_explicit (place, memory_order_relaxed);
  uint32_t interval = mine >> 16 & 0xffffff;
  uint64_t whole = (uint64_t) (((word ^ mine) & ~0xffull) == 0) * (word & 0xff);
  if (!writes && __builtin_expect (mic_is_anothers (word, mine), 0))
    mic_keep_before (cell, block, word, mic_cells.read_pcs[cell]);
  /* The code's place first: who sees the word tells it, and the first access to a page of places takes long.  */
  (writes ? mic_cells.write_pcs : mic_cells.read_pcs)[cell] = (uint32_t) (uintptr_t) pc;
  atomic_store_explicit (place, mine | whole, memory_order_release);
  if (atomic_load_explicit (last, memory_order_relaxed) < interval)
    atomic_store_explicit (last, interval, memory_order_relaxed);
}

/* The calling thread is about to look whether others have written in a block, and then to note that it has.  The first
   note in a page takes long, and what another one notes meanwhile would not be seen: so the page is made before.  */
static inline void
mic_make_room (const struct mic_block *block)
{
  uint64_t first = (uint64_t) (block - mic_blocks) * (MIC_BLOCK / 8);
  if (__builtin_expect (mic_has_cells (&block->last_write), 1))
    return;
  __atomic_fetch_or (&mic_cells.write_pcs[first], 0, __ATOMIC_RELAXED);
  atomic_fetch_or_explicit (&mic_cells.writes[first], 0, memory_order_relaxed);
}

static inline void
mic_race_part (uint64_t at, unsigned mask, int writes, const void *pc)
{
  struct mic_block *block = &mic_blocks[at / MIC_BLOCK];
  uint64_t mine = mic_word | mask, cell = at / 8;
  int raced;
  mic_come_near (block);
  if (writes)
    mic_make_room (block);
  raced = writes && mic_is_written (cell, block, mine, mask);
  if (raced)
    mic_race_at (block, at, mask, writes, 0, pc);
  if (mic_is_first ())
    raced |= mic_note_first (cell, block, mine, writes, pc);
  else
    mic_note (cell, block, mine, writes, pc);
  if (writes)
    mic_settle (at);
  if (!raced && ((writes ? mic_is_read (cell, block, mine, mask) : mic_is_written (cell, block, mine, mask))
                 || (mic_has_atomics (block) && mic_of_others (&mic_cells.atomics[cell], mine, mask))))
    mic_race_at (block, at, mask, writes, 0, pc);
}

/* Note that the calling thread has written by an atomic operation.  Another one's note stays as long as something that
   is not atomic would race with it here: of two threads that count, either is to be seen by one that only looks.  */
static void
mic_note_atomic (uint64_t cell, uint64_t mine, unsigned mask, const void *pc)
{
  uint64_t there = atomic_load_explicit (&mic_cells.atomics[cell], memory_order_relaxed);
  if (((there ^ mine) & ~0xffull) == 0)
    mine |= there;
  else if (mic_unordered (there, mask))
    return;
  mic_cells.atomic_pcs[cell] = (uint32_t) (uintptr_t) pc;
  atomic_store_explicit (&mic_cells.atomics[cell], mine, memory_order_release);
}

/* Of an atomic access only what others do without is looked for: two of them are no race.  What others do from here on
   in its kilobyte is noted at once (device_walks.h), so that the next one sees it.  */
static inline void
mic_race_atomic (uint64_t at, unsigned mask, int writes, const void *pc)
{
  struct mic_block *block = &mic_blocks[at / MIC_BLOCK];
  uint64_t mine = mic_word | mask, cell = at / 8;
  mic_come_near (block);
  if (!mic_has_atomics (block))
    {
      atomic_store (&block->atomics, mic_word_launch);
      mic_settle_block (at);  /* also what the thread itself has kept: it keeps nothing there from here on */
    }
  if (writes)
    {
      mic_note_atomic (cell, mine, mask, pc);
      if (mic_is_first ())
        atomic_thread_fence (memory_order_seq_cst);
      mic_settle (at);
    }
  if (mic_is_written (cell, block, mine, mask) || (writes && mic_is_read (cell, block, mine, mask)))
    mic_race_at (block, at, mask, writes, 1, pc);
}

static inline void
mic_race (uint64_t offset, size_t size, int writes, int is_atomic, const void *pc)
{
  if (mic_word == 0)
    return;
  for (uint64_t at = offset & ~7ull; at < offset + size; at += 8)
    {
      unsigned first = offset > at ? offset - at : 0, last = offset + size - at < 8 ? offset + size - at : 8;
      unsigned mask = (1u << last) - (1u << first);
      if (is_atomic)
        mic_race_atomic (at, mask, writes, pc);
      else
        mic_race_part (at, mask, writes, pc);
    }
}

/* The part of [ADDRESS, ADDRESS + SIZE) that is in the arena, as an offset and *SIZE.  */
static uint64_t
mic_in_arena (uintptr_t address, size_t *size)
{
  uintptr_t end = address + *size;
  if (address < gompy_access.low)
    address = gompy_access.low;
  if (end > gompy_access.high)
    end = gompy_access.high;
  *size = end - address;
  return address - gompy_access.low;
}

/* Whether all of N marks are MIC_MARK_GOOD.  Each is read once, as other threads may be setting them: who compares
   marks with those behind them (memcmp) sees some as they were and some as they are, and finds them equal.  */
static int __attribute__ ((optimize ("O3")))
mic_are_good (const unsigned char *marks, size_t n)
{
  for (size_t i = 0, stop; i < n; i = stop)
    {
      uint64_t word, other = 0;
      stop = n - i > MIC_MARKS_AT_ONCE ? i + MIC_MARKS_AT_ONCE : n;
      for (; i + 8 <= stop; i += 8)
        {
          memcpy (&word, marks + i, 8);
          other |= word ^ MIC_GOOD_WORD;
        }
      for (; i < stop; i++)
        other |= marks[i] ^ MIC_MARK_GOOD;
      if (other != 0)
        return 0;
    }
  return 1;
}

/* Whether all marks of a usual access are MIC_MARK_GOOD.  */
static inline int
mic_all_good (uint64_t offset, size_t size)
{
  uint64_t word;
  uint32_t half;
  if (size == 8)
    {
      memcpy (&word, mic_marks + offset, 8);
      return word == MIC_GOOD_WORD;
    }
  if (size != 4)
    return 0;
  memcpy (&half, mic_marks + offset, 4);
  return half == 0x01010101u * MIC_MARK_GOOD;
}

static void
mic_die (uint64_t offset, const void *pc)
{
  mic_end_walks ();
  mic_access_dies (gompy_access.low + offset, pc);
}

static void
mic_look_read (uint64_t offset, size_t size, const void *pc)
{
  for (size_t i = 0; i < size; i++)
    {
      unsigned char mark = mic_marks[offset + i];
      if (mark == MIC_MARK_GOOD)
        continue;
      if (mark == MIC_MARK_CLOSED)
        mic_die (offset + i, pc);
      size_t near = size - i < MIC_NEAR ? size - i : MIC_NEAR;
      const void *bytes = (const void *) (gompy_access.low + offset + i);
      if (mark == MIC_MARK_UNSET
          && mic_written_untold (bytes, mic_marks + offset + i, near, offset + i, mic_is_spread))
        {
          for (size_t end = i + near; i < end && (mic_marks[offset + i] == MIC_MARK_UNSET
                                                  || mic_marks[offset + i] == MIC_MARK_GOOD); i++)
            mic_marks[offset + i] = MIC_MARK_GOOD;
          i--;
          continue;
        }
      mic_access_found (mark == MIC_MARK_COPIED ? MIC_MARK_UNSET : mark, gompy_access.low + offset + i, pc, 0);
      for (; i < size && mic_marks[offset + i] != MIC_MARK_CLOSED; i++)
        if (mic_marks[offset + i] > MIC_MARK_GOOD)
          mic_marks[offset + i] = MIC_MARK_GOOD;  /* told once */
      i--;
    }
}

static void
mic_look_write (uint64_t offset, size_t size, const void *pc)
{
  for (size_t i = 0; i < size; i++)
    {
      if (mic_marks[offset + i] == MIC_MARK_CLOSED)
        mic_die (offset + i, pc);
      mic_marks[offset + i] = MIC_MARK_GOOD;
    }
}

/* What a block has in `good` if all its bytes are good.  */
static inline uint32_t
mic_good_now (uint64_t offset)
{
  return __atomic_load_n (&mic_changes[(offset >> MIC_CHANGE_SHIFT) % MIC_CHANGES], __ATOMIC_ACQUIRE) + 1;
}

/* Whether all bytes of a block are good; what is found holds until the host changes marks there.  */
static int __attribute__ ((noinline))
mic_find_good (struct mic_block *block, uint64_t offset)
{
  const unsigned char *marks = mic_marks + (offset & -(uint64_t) MIC_BLOCK);
  uint32_t now = mic_good_now (offset);  /* before the look */
  if (block->bad == (uint16_t) mic_word_launch && ++block->looks % MIC_GLANCES != 0)
    return 0;
  if (mic_are_good (marks, MIC_BLOCK))
    {
      atomic_store_explicit (&block->good, now, memory_order_relaxed);
      return 1;
    }
  block->bad = (uint16_t) mic_word_launch;
  return 0;
}

static inline int
mic_is_good (struct mic_block *block, uint64_t offset)
{
  return atomic_load_explicit (&block->good, memory_order_relaxed) == mic_good_now (offset)
         || mic_find_good (block, offset);
}

/* Whether an access is of one cell, and of good bytes in the arena, as nearly all are.  */
static inline int
mic_simple (struct mic_block *block, uint64_t offset, size_t size)
{
  uint64_t word;
  unsigned in_cell = offset & 7;
  if (__builtin_expect (in_cell + size > 8 || offset + 8 > mic_access_size, 0))
    return 0;
  if (__builtin_expect (atomic_load_explicit (&block->good, memory_order_relaxed) == mic_good_now (offset), 1))
    return 1;
  memcpy (&word, mic_marks + (offset - in_cell), 8);
  if (((word ^ MIC_GOOD_WORD) & (~0ull >> (64 - 8 * size) << 8 * in_cell)) != 0)
    return 0;
  if (word == MIC_GOOD_WORD)
    mic_find_good (block, offset);
  return 1;
}

static void __attribute__ ((noinline))
mic_any_read (uintptr_t address, size_t size, const void *pc)
{
  uint64_t offset = mic_in_arena (address, &size);
  if (!mic_all_good (offset, size))
    mic_look_read (offset, size, pc);
  mic_race (offset, size, 0, 0, pc);
}

static void __attribute__ ((noinline))
mic_any_write (uintptr_t address, size_t size, const void *pc)
{
  uint64_t offset = mic_in_arena (address, &size);
  if (!mic_all_good (offset, size))
    mic_look_write (offset, size, pc);
  mic_race (offset, size, 1, 0, pc);
}

/* Note an access of one cell, and look for others when they can see the note: the first access to a page of cells takes
   long.  0: it races, or that is to be looked at; 1 also where it raced and has been told.  */
static inline __attribute__ ((always_inline)) int
mic_note_usual (uint64_t offset, struct mic_block *block, unsigned mask, int writes, int first, const void *pc)
{
  uint64_t mine = mic_word | mask, cell = offset / 8;
  mic_come_near (block);
  if (writes)
    mic_make_room (block);
  if (writes && __builtin_expect (mic_is_written (cell, block, mine, mask), 0))
    return 0;
  if (!first)
    mic_note (cell, block, mine, writes, pc);
  else if (mic_note_first (cell, block, mine, writes, pc))
    return 1;
  else if (mic_has_atomics (block))
    return 0;
  if (!writes)
    return !mic_is_written (cell, block, mine, mask);
  mic_settle (offset);
  return !mic_is_read (cell, block, mine, mask);
}

static int __attribute__ ((noinline))
mic_note_usual_first (uint64_t offset, unsigned mask, int writes, const void *pc)
{
  mic_firsts--;
  return mic_note_usual (offset, &mic_blocks[offset / MIC_BLOCK], mask, writes, 1, pc);
}

/* One cell, and nothing that could be wrong: 1, and it is noted.  */
static inline __attribute__ ((always_inline)) int
mic_usual (uintptr_t address, size_t size, int writes, const void *pc)
{
  uint64_t offset = address - gompy_access.low;
  struct mic_block *block = &mic_blocks[offset / MIC_BLOCK];
  unsigned mask;
  if (__builtin_expect (size - 1 >= 8 || offset >= mic_access_size || !mic_simple (block, offset, size), 0))
    return 0;
  if (mic_word == 0)
    return 1;
  if (__builtin_expect (mic_has_atomics (block), 0))
    return 0;
  mask = 0xffu >> (8 - size) << (offset & 7);
  return __builtin_expect (mic_firsts != 0, 0) ? mic_note_usual_first (offset, mask, writes, pc)
                                               : mic_note_usual (offset, block, mask, writes, 0, pc);
}

static void mic_access_write (uintptr_t address, size_t size, const void *pc);
static void mic_access_read (uintptr_t address, size_t size, const void *pc);

/* WRITES: 0: it only reads, 2: it only writes.  */
static void
mic_access_atomic (uintptr_t address, size_t size, int writes, const void *pc)
{
  uint64_t offset = mic_in_arena (address, &size);
  if (writes != 2)
    mic_look_read (offset, size, pc);
  if (writes)
    mic_look_write (offset, size, pc);
  mic_race (offset, size, writes, 1, pc);
}

#include "device_ranges.h"
#include "device_gather.h"

static void __attribute__ ((noinline))
mic_new_write (uintptr_t address, size_t size, const void *pc)
{
  if (!mic_walks_anew (address, size, 1, pc) && !mic_usual (address, size, 1, pc))
    mic_any_write (address, size, pc);
}

static void
mic_access_write (uintptr_t address, size_t size, const void *pc)
{
  if (!mic_walks_on (address, size, 1, pc))
    mic_new_write (address, size, pc);
}

static void __attribute__ ((noinline))
mic_new_read (uintptr_t address, size_t size, const void *pc)
{
  if (!mic_walks_anew (address, size, 0, pc)
      && !mic_keep_read (address - gompy_access.low, size, pc) && !mic_usual (address, size, 0, pc))
    mic_any_read (address, size, pc);
}

static void
mic_access_read (uintptr_t address, size_t size, const void *pc)
{
  if (!mic_walks_on (address, size, 0, pc))
    mic_new_read (address, size, pc);
}

/* An access of a site, which compiled code has looked at (gompy/accel/hooks/loops_steps.h).  */
static void
mic_access_one (uintptr_t address, int kind, const unsigned char *site, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  int writes = (kind & GOMPY_RANGE_WRITES) != 0;
  if (mic_site_walks (address, size, writes, site, pc)
      || (!writes && mic_keep_read (address - gompy_access.low, size, pc)) || mic_usual (address, size, writes, pc))
    return;
  (writes ? mic_any_write : mic_any_read) (address, size, pc);
}

_Static_assert (MIC_BLOCK * 2 + MIC_BLOCK / 8 * 4 * (sizeof (uint64_t) + sizeof (uint32_t)) + sizeof *mic_blocks
                  + sizeof *mic_readers + sizeof *mic_kept_some <= MIC_BLOCK * MIC_EXACT_BYTES,
                "a block, its marks and what follows fit into what the host has reckoned with");
_Static_assert (MIC_INTERVALS * (sizeof *mic_interval_team + sizeof *mic_access_teams) <= MIC_EXACT_FIXED,
                "so does what there is besides");

/* The arena has marks, and an image tells of its accesses.  */
static int
mic_watch_accesses (uint64_t base, uint64_t size, const uint32_t *changes, int spread)
{
  mic_interval_team = mic_reserve (MIC_INTERVALS * sizeof *mic_interval_team);
  mic_access_teams = mic_reserve (MIC_INTERVALS * sizeof *mic_access_teams);
  mic_cells.writes = mic_reserve (size / 8 * sizeof *mic_cells.writes);
  mic_cells.reads = mic_reserve (size / 8 * sizeof *mic_cells.reads);
  mic_cells.write_pcs = mic_reserve (size / 8 * sizeof *mic_cells.write_pcs);
  mic_cells.read_pcs = mic_reserve (size / 8 * sizeof *mic_cells.read_pcs);
  mic_cells.befores = mic_reserve (size / 8 * sizeof *mic_cells.befores);
  mic_cells.before_pcs = mic_reserve (size / 8 * sizeof *mic_cells.before_pcs);
  mic_cells.atomics = mic_reserve (size / 8 * sizeof *mic_cells.atomics);
  mic_cells.atomic_pcs = mic_reserve (size / 8 * sizeof *mic_cells.atomic_pcs);
  mic_blocks = mic_reserve ((size / MIC_BLOCK + 1) * sizeof *mic_blocks);
  mic_readers = mic_reserve ((size / MIC_BLOCK + 1) * sizeof *mic_readers);
  mic_kept_some = mic_reserve ((size / MIC_BLOCK + 1) * sizeof *mic_kept_some);
  if (mic_interval_team == NULL || mic_access_teams == NULL || mic_cells.writes == NULL || mic_cells.reads == NULL
      || mic_cells.write_pcs == NULL || mic_cells.read_pcs == NULL || mic_cells.befores == NULL
      || mic_cells.before_pcs == NULL || mic_cells.atomics == NULL || mic_cells.atomic_pcs == NULL || mic_blocks == NULL
      || mic_readers == NULL || mic_kept_some == NULL || !mic_begin_following ())
    return 0;
  mic_changes = changes;
  mic_is_spread = spread;
  mic_access_size = size;
  gompy_access.read = mic_access_read;
  gompy_access.write = mic_access_write;
  gompy_access.atomic = mic_access_atomic;
  gompy_access.range = mic_access_range;
  gompy_access.gather = mic_access_gather;
  gompy_access.ahead = mic_access_ahead;
  gompy_access.some = mic_access_some;
  gompy_access.fork = mic_access_fork;
  gompy_access.join = mic_access_join;
  gompy_access.enter = mic_access_enter;
  gompy_access.leave = mic_access_leave;
  gompy_access.barrier = mic_access_barrier;
  gompy_access.release = mic_access_release;
  gompy_access.hold = mic_access_hold;
  gompy_access.take = mic_access_take;
  gompy_access.give = mic_access_give;
  gompy_access.pause = mic_access_pause;
  gompy_access.row = mic_access_row;
  gompy_access.row_at = mic_access_row_at;
  gompy_access.one = mic_access_one;
  gompy_access.steps = (char *) &mic_followed - (char *) __builtin_thread_pointer ();
  gompy_access.high = base + size;
  gompy_access.low = base;
  return 1;
}

#endif
