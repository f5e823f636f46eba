/* Blocks that run together, as those of a cooperative launch do (races.h).  They take turns on one set of numbers: a
   block goes on, as a new run, when another one waits (race_turns.h).  What is known of it is put aside meanwhile.

   The barrier of the grid is a word of memory that each block adds to once, and reads until all have (the executor's
   `workspace`).  A flag by itself would tell who reads it late too much: a block may have come to the next barrier by
   then.  So it is known here which of the barriers a block is behind, and what the others knew when they came to
   it.  */
#ifndef GOMPY_PTX_RACE_GRID_H
#define GOMPY_PTX_RACE_GRID_H

#include "race_launch.h"

/* Whether an epoch is of the block at work.  */
static inline int
gompy_race_own (const struct gompy_races *r, int32_t epoch)
{
  return epoch >= r->run_first
         || (r->grid && epoch >= r->own_first && r->runs[gompy_race_run (r, epoch)].home == r->self);
}

/* A version of a flag becomes known, to a block or at a barrier.  0 if there is no room for it.  */
static int
gompy_race_saw (struct gompy_races *r, struct gompy_flag_seen *seen, uint32_t *count, uint32_t most,
                struct gompy_flag *flag, uint32_t version)
{
  for (uint32_t i = 0; i < *count; i++)
    if (seen[i].flag == flag)
      {
        seen[i].version = seen[i].version > version ? seen[i].version : version;
        seen[i].run = seen[i].run == r->self ? seen[i].run : ~0u;
        return 1;
      }
  if (*count == most)
    return 0;
  seen[(*count)++] = (struct gompy_flag_seen) { flag, version, r->self };
  return 1;
}

static void
gompy_grid_free (struct gompy_races *r)
{
  for (int i = 0; r->grid && i < GOMPY_GRID_PHASES; i++)
    free (r->grid->phases[i].clocks);
  free (r->grid);
  r->grid = NULL;
  r->passing = 0; /* the last block may have read the word, and ended without a fence */
}

/* A launch whose blocks run together, with the barrier's word at WORD.  0, or -1 for lack of memory.  */
static int
gompy_grid_new (struct gompy_races *r, uint32_t nblocks, uint64_t word)
{
  r->grid = calloc (1, sizeof *r->grid);
  if (!r->grid)
    return -1;
  r->grid->word = word;
  r->grid->nblocks = nblocks;
  r->heard = 1;
  gompy_space_unmap (&r->shared, r->shared_size); /* each block has its own */
  for (int i = 0; i < GOMPY_GRID_PHASES; i++)
    if (!(r->grid->phases[i].clocks = calloc (nblocks, sizeof (struct gompy_clocks))))
      {
        gompy_grid_free (r);
        return -1;
      }
  return 0;
}

/* A block begins, or is over: nothing is known of it.  */
static void
gompy_grid_begin (struct gompy_races *r)
{
  memset (&r->known, 0, sizeof r->known);
}

static void
gompy_grid_end (struct gompy_races *r)
{
  gompy_space_unmap (&r->shared, r->shared_size);
}

/* Whether no other block has run since it was put aside: its run goes on.  */
static inline int
gompy_grid_alone (const struct gompy_races *r, const struct gompy_block_known *known)
{
  return known->forgets == r->nforgets && r->nruns && r->runs[r->nruns - 1].home == known->self;
}

/* A block that was put aside goes on.  One that waits in a loop does so again and again, as long as it waits: where
   there are too many runs the numbers begin anew.  0, or -1 for lack of memory.  */
static int
gompy_grid_resume (struct gompy_races *r, const struct gompy_block_known *known)
{
  int alone = gompy_grid_alone (r, known);
  r->known = *known;
  if (alone)
    return 0;
  if (r->nruns >= GOMPY_RACE_RUNS)
    gompy_race_anew (r);
  if (gompy_race_room (r))
    return -1;
  r->nlater = r->nlater_lanes = 0;
  gompy_race_epoch (r);
  if (r->forgets != r->nforgets)
    {
      gompy_space_forget (&r->shared, r->shared_size);
      gompy_race_home (r);
    }
  else
    {
      r->run_first = r->ordered_before = r->epoch;
      r->runs[r->nruns++] = (struct gompy_run) { r->epoch, r->block, r->self };
      for (uint32_t w = 0; w < r->nwarps; w++)
        r->knows[w].of[w] = r->epoch;
    }
  r->puts_off = 0; /* the marks of shared memory are another block's */
  return 0;
}

/* A warp adds to the word: its block has come to the next barrier, with what the warp's last fence knew.  */
static void
gompy_grid_arrive (struct gompy_races *r, uint32_t warp)
{
  struct gompy_grid_phase *phase = &r->grid->phases[r->arrivals % GOMPY_GRID_PHASES];
  if (!phase->arrived || phase->number != r->arrivals)
    {
      memset (phase->clocks, 0, r->grid->nblocks * sizeof *phase->clocks);
      phase->number = r->arrivals;
      phase->arrived = phase->nseen = 0;
    }
  if (r->has_fenced[warp])
    phase->clocks[r->block] = r->fenced[warp];
  for (uint32_t i = 0; i < r->nseen; i++)
    gompy_race_saw (r, phase->seen, &phase->nseen, GOMPY_RACE_KNOWN, r->seen[i].flag, r->seen[i].version);
  phase->arrived++;
  r->arrivals++;
}

/* A warp reads the word.  What that tells is known behind a fence.  */
static void
gompy_grid_read (struct gompy_races *r, uint32_t warp)
{
  if (r->arrivals && r->grid->phases[(r->arrivals - 1) % GOMPY_GRID_PHASES].arrived == r->grid->nblocks)
    r->passing |= 1u << warp;
}

/* The fence: the block is behind the barrier.  */
static const struct gompy_grid_phase *
gompy_grid_pass (struct gompy_races *r, uint32_t warp)
{
  r->passing &= ~(1u << warp);
  r->passed = r->arrivals;
  return &r->grid->phases[(r->passed - 1) % GOMPY_GRID_PHASES];
}

/* Whether the barrier that the block is behind tells of an access of another one, which began as RUN.  */
static int
gompy_grid_tells (const struct gompy_races *r, const struct gompy_touch *touch, uint32_t run)
{
  const struct gompy_grid_phase *phase;
  if (!r->grid || !r->passed)
    return 0;
  phase = &r->grid->phases[(r->passed - 1) % GOMPY_GRID_PHASES];
  return phase->number == r->passed - 1
         && phase->clocks[r->runs[run].block].of[gompy_who_warp (touch->who)] >= touch->epoch;
}

#endif
