"""Marks of 32 words together (race_strips.h): what they take for right cannot be a race."""

from __future__ import annotations

from pathlib import Path

from race_headers import compiled, has_headers, outcome

PROGRAM = r"""
#include <stdio.h>
#include "race_strips.h"
enum { WORDS = 160, ROUNDS = 60000, MOST = 4096 };
static struct gompy_races races;
static uint32_t marks[WORDS], state = 1, count, in_step, by_strips, by_words;
static struct gompy_strip strips[WORDS / GOMPY_STRIP + 1];
/* What has been done since the last barrier: a word, by an instruction of a lane behind so many syncs of its warp.  */
static struct { uint32_t word, warp, lane, syncs; int writes; } done[MOST];
static uint32_t
number (uint32_t most)
{
  state = state * 1664525 + 1013904223;
  return (state >> 8) % most;
}
static void
add (uint32_t word, uint32_t warp, uint32_t lane, int writes)
{
  done[count].word = word, done[count].warp = warp, done[count].lane = lane;
  done[count].syncs = races.syncs[warp], done[count++].writes = writes;
}
/* Whether what was done last races with anything.  */
static int
is_race (uint32_t first)
{
  for (uint32_t i = first; i < count; i++)
    for (uint32_t k = 0; k < first; k++)
      if (done[i].word == done[k].word && (done[i].writes || done[k].writes)
          && (done[i].warp != done[k].warp
              || (!in_step && done[i].lane != done[k].lane && done[i].syncs == done[k].syncs)))
        return 1;
  return 0;
}
/* A row of some lanes, as gompy_told_row has it, lane 0's word at AT, be it before the first one.  */
static int
row (int32_t at, uint32_t mask, uint32_t warp, int writes)
{
  uint32_t step, mine = gompy_mark_of (&races, warp, (int) in_step, &step);
  if (races.by_strips && gompy_strips_row (&races, at, mask, warp, (int) in_step, writes))
    return by_strips++, 1;
  if (races.by_strips)
    gompy_strips_end (&races);
  by_words++;
  return gompy_mark_row_usual (races.marks + at, mask, 0, mine, step, writes);
}
/* Lanes anywhere.  */
static int
lanes (const uint64_t *a, uint32_t mask, uint32_t warp, int writes)
{
  uint32_t step, mine = gompy_mark_of (&races, warp, (int) in_step, &step);
  if (races.by_strips)
    gompy_strips_end (&races);
  return gompy_mark_lanes_usual (&races, a, mask, 4, mine, step, writes);
}
int
main (void)
{
  uint32_t took = 0;
  races.marks = marks, races.nmarks = WORDS, races.strips = strips;
  races.stamp = GOMPY_STAMP, races.by_strips = 1;
  for (uint32_t round = 0; round < ROUNDS; round++)
    {
      uint32_t warp = number (3), mask = number (1 << 24) << 8 | number (256), first = count, only = ~0u;
      int32_t at = number (4) ? (int32_t) (32 * number (WORDS / 32)) : (int32_t) number (WORDS + 31) - 31;
      int writes = number (3) == 0, right;
      uint64_t a[GOMPY_LANES];
      if (number (3) == 0)
        mask = number (4) ? ~0u : 1u << number (32);
      if (at < 0)
        only <<= -at;
      else if (at > WORDS - 32)
        only >>= at - (WORDS - 32);
      mask = mask & only ? mask & only : only;
      if (number (16))
        right = row (at, mask, warp, writes);
      else
        {
          for (int lane = 0; lane < GOMPY_LANES; lane++)
            a[lane] = GOMPY_SHARED_BASE + 4 * (uint64_t) (at = (int32_t) number (WORDS));
          right = lanes (a, mask, warp, writes);
          at = WORDS;
        }
      for (uint32_t lane = 0; lane < GOMPY_LANES; lane++)
        if (mask >> lane & 1)
          add (at == WORDS ? (uint32_t) (a[lane] - GOMPY_SHARED_BASE) / 4 : (uint32_t) at + lane, warp, lane, writes);
      if (right && is_race (first))
        return printf ("round %u: a race\n", round), 2;
      took += (uint32_t) right;
      if (!right || count > MOST - 130 || number (9) == 0)
        {
          races.stamp += GOMPY_STAMP;
          if (!races.stamp)
            {
              memset (marks, 0, sizeof marks);
              memset (strips, 0, sizeof strips);
              races.stamp = GOMPY_STAMP;
            }
          races.by_strips = number (8) != 0;
          count = 0;
          in_step = number (4) == 0;
        }
      if (number (4) == 0)
        races.syncs[warp] = (races.syncs[warp] + GOMPY_SYNC) & (GOMPY_STAMP - 1);
    }
  if (took < ROUNDS / 4 || by_strips < ROUNDS / 4 || by_words < ROUNDS / 16)
    return printf ("%u, %u, %u only\n", took, by_strips, by_words), 3;
  return 0;
}
"""


@has_headers
def test_strips_agree_with_a_model(tmp_path: Path) -> None:
    """Random rows, with lanes, barriers and __syncwarp between them, held against all pairs of accesses."""
    assert outcome(compiled(tmp_path, "strips", PROGRAM)) == (0, "")
