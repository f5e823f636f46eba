"""Blocks that take turns (race_turns.h, race_grid.h), without a device: how turns end, what outlives what."""

from __future__ import annotations

from pathlib import Path

import pytest
from race_headers import compiled, has_headers, outcome

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "race_later.h"
#include "race_turns.h"

enum { BLOCKS = 3, WORDS = 1024 };
static uint32_t memory[WORDS], word;
static struct gompy_races *r;
static struct gompy_block_known aside[BLOCKS];

#define AGREE(what) if (!(what)) return printf ("line %d: %s\n", __LINE__, #what), 1

static int
touch (uint32_t *at, int writes)
{
  struct gompy_race_found found;
  struct gompy_access access = gompy_race_access (r, 0, 4, 1 << 16, writes, 0);
  return gompy_race_one (r, &access, (uint64_t) (uintptr_t) at, 0, 0, &found);
}

static int
launch (int together)
{
  return gompy_race_launch (r, (uint64_t) (uintptr_t) memory, sizeof memory, NULL, NULL)
         || (together && gompy_grid_new (r, BLOCKS, (uint64_t) (uintptr_t) &word));
}

static int
begin (uint32_t block)
{
  gompy_grid_begin (r);
  return gompy_race_block (r, block, 1, 0);
}

static void put_aside (uint32_t block) { aside[block] = r->known; }
static int go_on (uint32_t block) { return gompy_grid_resume (r, &aside[block]); }

/* It comes to the grid's barrier; it is behind it.  */
static void come (void) { gompy_race_fence (r, 0); gompy_grid_arrive (r, 0); }
static void pass (void) { gompy_grid_read (r, 0); gompy_race_fence (r, 0); }

static int
begin_all (void)
{
  for (uint32_t block = 0; block < BLOCKS; block++)
    {
      if (begin (block)) return 1;
      put_aside (block);
    }
  return 0;
}

/* A barrier tells what was before it, of epochs that are the same numbers.  */
static int
numbers_anew (void)
{
  AGREE (!launch (1) && !begin_all ());
  r->epoch += 1000;
  for (uint32_t block = 0; block < BLOCKS; block++)
    {
      AGREE (!go_on (block));
      AGREE (!touch (&memory[32 * block], 1));
      come ();
      put_aside (block);
    }
  for (uint32_t block = 0; block < BLOCKS; block++)
    {
      AGREE (!go_on (block));
      pass ();
      AGREE (!touch (&memory[32 * ((block + 1) % BLOCKS)], 0));
      put_aside (block);
    }
  gompy_race_forget (r);
  AGREE (!go_on (0) && !touch (&memory[512], 1));
  put_aside (0);
  AGREE (r->epoch < 1000);
  AGREE (!go_on (1) && touch (&memory[512], 0)); /* the barrier was before that write */
  gompy_grid_free (r);
  return 0;
}

/* A block may end behind a read of the barrier's word.  */
static int
read_at_last (void)
{
  AGREE (!launch (1) && !begin_all ());
  for (uint32_t block = 0; block < BLOCKS; block++)
    {
      AGREE (!go_on (block));
      come ();
      put_aside (block);
    }
  gompy_grid_read (r, 0);
  AGREE (r->passing);
  gompy_grid_end (r);
  gompy_grid_free (r);
  AGREE (!launch (0) && !gompy_race_block (r, 0, 1, 0));
  gompy_race_fence (r, 0);
  AGREE (!r->passing);
  return 0;
}

/* Blocks that wait in loops are put aside and go on without end.  */
static int
runs_end (void)
{
  AGREE (!launch (1) && !begin_all ());
  AGREE (!go_on (0));
  uint32_t before = r->nruns;
  int32_t epoch = r->epoch;
  for (int i = 0; i < 1000; i++)
    {
      put_aside (0);
      AGREE (!go_on (0));
    }
  AGREE (r->nruns == before && r->epoch == epoch); /* no other block has run */
  AGREE (!touch (&memory[0], 1));
  put_aside (0);
  AGREE (!go_on (1) && touch (&memory[0], 0));
  put_aside (1);
  uint32_t room = GOMPY_RACE_RUNS + 8;
  r->runs = realloc (r->runs, room * sizeof *r->runs);
  memset (r->runs + r->nruns, 0, (room - r->nruns) * sizeof *r->runs);
  for (uint32_t i = r->nruns; i < room; i++)
    r->runs[i] = r->runs[r->nruns - 1];
  r->runs_room = room;
  r->nruns = GOMPY_RACE_RUNS - 1;
  for (uint32_t i = 0; i < 1000; i++)
    {
      uint32_t block = i % BLOCKS;
      AGREE (!go_on (block));
      AGREE (gompy_race_block_of (r, r->epoch) == block);
      AGREE (!touch (&memory[512 + 32 * block], 1));
      put_aside (block);
    }
  AGREE (r->nruns < 2000 && r->runs_room == room);
  AGREE (!go_on (1) && touch (&memory[512], 0)); /* what came since is known */
  gompy_grid_free (r);
  return 0;
}

static struct gompy_turns *turns;
static int failed, ran[BLOCKS];

static void *
run (void *number)
{
  uint32_t block = (uint32_t) (uintptr_t) number;
  if (!gompy_turn_begin (turns, block, &failed))
    return NULL;
  for (int i = 0; i < 5 && !__atomic_load_n (&failed, __ATOMIC_SEQ_CST); i++)
    {
      ran[block]++;
      gompy_turn_pass (turns, block, &failed);
    }
  gompy_turn_end (turns, block, &failed);
  return NULL;
}

static int
begun (void)
{
  pthread_mutex_lock (&turns->lock);
  int both = turns->of[1].state == GOMPY_TURN_BEGUN && turns->of[2].state == GOMPY_TURN_BEGUN;
  pthread_mutex_unlock (&turns->lock);
  return both;
}

/* There is no memory for what the first block needs, with all others waiting for it; or for nothing.  */
static int
no_memory (int first_fails)
{
  pthread_t threads[BLOCKS];
  failed = 0;
  memset (ran, 0, sizeof ran);
  AGREE ((turns = gompy_turns_new (BLOCKS)) != NULL);
  for (uintptr_t block = first_fails; block < BLOCKS; block++)
    AGREE (!pthread_create (&threads[block], NULL, run, (void *) block));
  if (first_fails)
    {
      while (!begun ())
        usleep (100);
      __atomic_store_n (&failed, 1, __ATOMIC_SEQ_CST);
      gompy_turns_abandon (turns);
      gompy_turns_abandon (turns); /* each that lacks memory says so */
      AGREE (!gompy_turn_begin (turns, 0, &failed));
    }
  for (int block = first_fails; block < BLOCKS; block++)
    {
      AGREE (!pthread_join (threads[block], NULL));
      AGREE (ran[block] == (first_fails ? 0 : 5));
    }
  gompy_turns_free (turns);
  return 0;
}

int
main (int argc, char **argv)
{
  alarm (120); /* what waits for ever ends here */
  r = gompy_race_new ();
  AGREE (r != NULL && argc == 2);
  AGREE (!launch (0));
  if (!strcmp (argv[1], "numbers anew")) return numbers_anew ();
  if (!strcmp (argv[1], "read at last")) return read_at_last ();
  if (!strcmp (argv[1], "runs end")) return runs_end ();
  return no_memory (!strcmp (argv[1], "no memory"));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program above, which takes the name of a case."""
    return compiled(tmp_path_factory.mktemp("turns"), "turns", PROGRAM, "-pthread")


@pytest.mark.slow(sample=3)
@has_headers
@pytest.mark.parametrize("case", ["numbers anew", "read at last", "runs end", "no memory", "memory"])
def test_turns(program: Path, case: str) -> None:
    """What a barrier of the grid told, who waits for a turn, and how many runs there are."""
    assert outcome(program, case) == (0, "")
