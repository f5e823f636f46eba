/* A launch, a block: what is remembered of accesses begins, or is over (races.h).  */
#ifndef GOMPY_PTX_RACE_LAUNCH_H
#define GOMPY_PTX_RACE_LAUNCH_H

#include "race_read.h"

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
  memset (r->flag_lines, r->watched ? 0xff : 0, GOMPY_FLAG_LINES * sizeof *r->flag_lines);
  r->filling = NULL;
  r->nflags = r->own_flags = 0;
  r->heard = r->grid != NULL;
  for (int i = 0; r->grid && i < GOMPY_GRID_PHASES; i++)
    r->grid->phases[i].nseen = 0;
}

/* Whether an access of an earlier block of this launch may come before one that is still to come.  */
static inline int
gompy_race_across (const struct gompy_races *r)
{
  return r->nflags != r->own_flags || r->heard;
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
  gompy_read_forget (r);
  gompy_space_forget (&r->shared, r->shared_size);
  for (int i = 0; r->grid && i < GOMPY_GRID_PHASES; i++)
    memset (r->grid->phases[i].clocks, 0, r->grid->nblocks * sizeof *r->grid->phases[i].clocks);
  r->epoch = 1;
  r->launch_first = r->own_first = r->settled = 1;
  r->nruns = r->nworks = 0;
  r->nforgets++;
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
  gompy_read_unmap (r);
  r->base = base;
  r->size = size;
  r->nworks = 0;
  r->scattered = 0;
  if (gompy_space_map (&r->memory, size))
    return -1;
  if (!gompy_read_map (r))
    return 0;
  gompy_space_unmap (&r->memory, size);
  return -1;
}

/* What is noted is remembered, before what orders it, and before other warps go on.  */
static inline void
gompy_race_end_notes (struct gompy_races *r)
{
  r->kept_on = 0;
  if (r->nnoted)
    r->end_notes (r);
}

/* Whether some note is of the line of an address.  */
static inline int
gompy_race_noted_at (const struct gompy_races *r, uint64_t address)
{
  if (r->note_lines[address >> 13 & 63] >> (address >> 7 & 63) & 1)
    for (uint32_t i = 0; i < r->nnoted; i++)
      if (r->notes[r->noted[i]].line == (address & ~(uint64_t) (GOMPY_NOTE_BYTES - 1)))
        return 1;
  return 0;
}

/* The same before another access of SIZE bytes, if what is noted may be of these: they are judged in turn.  */
static inline void
gompy_race_end_notes_at (struct gompy_races *r, uint64_t address, uint32_t size)
{
  if (r->nnoted && (gompy_race_noted_at (r, address) || gompy_race_noted_at (r, address + size - 1)))
    gompy_race_end_notes (r);
}

/* Whether a warp goes on where it would let others run, so that its notes stay: one that waits for another reads the
   same few lines again and again.  It lets them run in the end.  */
static inline int
gompy_race_at_work (struct gompy_races *r)
{
  return r->nnoted >= GOMPY_RACE_BUSY && r->kept_on++ < GOMPY_RACE_KEEPS_ON;
}

static struct gompy_races *
gompy_race_new (void)
{
  struct gompy_races *r = calloc (1, sizeof *r);
  if (!r)
    return NULL;
  r->sites = calloc (GOMPY_RACE_SITES, sizeof *r->sites);
  r->site_table = calloc (4 * GOMPY_RACE_SITES, sizeof *r->site_table);
  r->notes = calloc (1, GOMPY_RACE_NOTES * sizeof *r->notes + GOMPY_FLAG_LINES * sizeof *r->flag_lines);
  r->flag_lines = (uint64_t *) (r->notes + GOMPY_RACE_NOTES);
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
  r->strips_rest -= r->strips_rest > 0;
  r->by_strips = r->puts_off && r->strips && !r->strips_rest;
  r->nlater = r->nlater_lanes = 0;
  r->stamp += GOMPY_STAMP;
  if (!r->stamp && r->marks)
    {
      memset (r->marks, 0, r->nmarks * sizeof *r->marks);
      if (r->strips)
        memset (r->strips, 0, (r->nmarks / GOMPY_STRIP + 1) * sizeof *r->strips);
      r->stamp = GOMPY_STAMP;
    }
}

/* Nobody has come to a barrier.  */
static inline void
gompy_race_new_barrier (struct gompy_races *r, uint32_t number)
{
  r->met &= ~(1u << number);
  memset (&r->meeting[number], 0, sizeof r->meeting[number]);
  memset (&r->meeting_fenced[number], 0, sizeof r->meeting_fenced[number]);
  r->meeting_has_fenced[number] = 0;
}

/* No block has met another, no warp a fence or a barrier.  */
static void
gompy_race_new_order (struct gompy_races *r)
{
  r->nseen = 0;
  memset (r->knows, 0, r->nwarps * sizeof *r->knows);
  memset (r->npending, 0, sizeof r->npending);
  if (memchr (r->has_fenced, 1, sizeof r->has_fenced)) /* of any block's warps: the others' are 0 */
    {
      memset (r->fenced, 0, sizeof r->fenced);
      memset (r->has_fenced, 0, sizeof r->has_fenced);
    }
  while (r->met)
    gompy_race_new_barrier (r, (uint32_t) __builtin_ctz (r->met));
  for (uint32_t w = 0; w < r->nwarps; w++)
    r->knows[w].of[w] = r->run_first;
}

/* What runs from the newest epoch on is a block that nothing is known of.  */
static void
gompy_race_home (struct gompy_races *r)
{
  r->run_first = r->ordered_before = r->shared_first = r->epoch;
  r->self = r->nruns;
  r->forgets = r->nforgets;
  r->runs[r->nruns++] = (struct gompy_run) { r->epoch, r->block, r->self };
  gompy_race_new_order (r);
}

/* A block has used up all numbers: it goes on as if it began here.  Races with what came before are missed.  */
static __attribute__ ((noinline)) void
gompy_race_anew (struct gompy_races *r)
{
  gompy_race_forget (r);
  gompy_race_new_shared (r);
  ++r->epoch;
  if (r->runs)
    gompy_race_home (r);
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

/* A block that the launch only reads, so far as its text tells.  Without streams such reads are not told at all.  */
static void
gompy_race_add_quiet (struct gompy_races *r, uint64_t low, uint64_t size)
{
  if (r->nquiet < GOMPY_RACE_QUIET)
    {
      r->quiet[r->nquiet].low = low;
      r->quiet[r->nquiet++].size = size;
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
  r->nquiet = 0;
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
  free (r->strips);
  r->marks = words >> 28 ? NULL : calloc (words, sizeof *r->marks);
  r->nmarks = r->marks ? (uint32_t) words : 0;
  r->strips = r->marks ? calloc (words / GOMPY_STRIP + 1, sizeof *r->strips) : NULL;
}

/* Room for one more run; 0, or -1 for lack of memory.  */
static int
gompy_race_room (struct gompy_races *r)
{
  if (r->nruns < r->runs_room)
    return 0;
  uint32_t room = 2 * r->runs_room + 64;
  void *more = realloc (r->runs, room * sizeof *r->runs);
  if (!more)
    return -1;
  r->runs = more;
  r->runs_room = room;
  return 0;
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
  if (gompy_race_room (r))
    return -1;
  r->own_flags = 0;
  r->nwarps = nwarps;
  r->block = (uint32_t) block;
  gompy_race_new_shared (r);
  memset (r->leavers, 0, sizeof r->leavers);
  gompy_race_epoch (r);
  gompy_race_home (r);
  return 0;
}

/* Which of COUNT things, SIZE bytes each, an epoch is of: each has its first epoch, FIRST is that of the first.  */
static inline uint32_t
gompy_race_of_epoch (const int32_t *first, size_t size, uint32_t count, int32_t epoch)
{
  uint32_t low = 0, high = count;
  while (high - low > 1)
    {
      uint32_t middle = low + (high - low) / 2;
      if (*(const int32_t *) ((const char *) first + middle * size) <= epoch)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* Which of this launch's runs an epoch is of.  */
static inline uint32_t
gompy_race_run (const struct gompy_races *r, int32_t epoch)
{
  return gompy_race_of_epoch (&r->runs->first, sizeof *r->runs, r->nruns, epoch);
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
  for (uint64_t word = (address - r->base) / 4, end = word + (size + 3) / 4, some; word < end; word += some)
    {
      struct gompy_line *line = r->memory.lines + word / GOMPY_LINE;
      uint32_t first = word % GOMPY_LINE, words;
      int left = 0;
      some = GOMPY_LINE - first < end - word ? GOMPY_LINE - first : end - word;
      words = (some == GOMPY_LINE ? ~0u : (1u << some) - 1) << first;
      if (line->state || line->loose_read || line->loose_written)
        for (uint64_t n = 0; n < some; n++)
          gompy_word_forget (gompy_word_at (r->memory.words, word + n));
      for (int i = 0; i < GOMPY_ROWS && line->rows[i].words; i++)
        if (line->rows[i].words &= ~words)
          line->rows[left++] = line->rows[i];
      if (left < GOMPY_ROWS)
        line->rows[left].words = 0;
    }
}

#endif
