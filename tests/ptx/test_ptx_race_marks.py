"""The marks of shared memory's words (race_marks.h): what they take for right cannot be a race, on every processor."""

from __future__ import annotations

from pathlib import Path

from race_headers import compiled, has_headers, outcome

PROGRAM = r"""
#include <stdio.h>
#include "race_marks.h"
enum { WORDS = 160, ROUNDS = 60000, MOST = 4096 };
static struct gompy_races one, two;
static uint32_t marks[2][WORDS + 64], state = 1, count;
/* What has been done since the last barrier: a word, by an instruction of a lane behind so many syncs of its warp.  */
static struct { uint32_t word, warp, lane, syncs, round; int writes; } done[MOST];
static uint32_t
number (uint32_t most)
{
  state = state * 1664525 + 1013904223;
  return (state >> 8) % most;
}
/* Of what several lanes have touched the lane tells nothing.  */
static int
differ (const uint32_t *a, const uint32_t *b)
{
  for (int i = 0; i < WORDS + 64; i++)
    if ((a[i] ^ b[i]) & ~(a[i] & GOMPY_MARK_WIDE ? (uint32_t) GOMPY_MARK_LANE : 0u))
      return 1;
  return 0;
}
static void
add (uint32_t word, uint32_t warp, uint32_t lane, uint32_t round, int writes)
{
  done[count].word = word, done[count].warp = warp, done[count].lane = lane, done[count].round = round;
  done[count].syncs = one.syncs[warp], done[count++].writes = writes;
}
/* Whether what was done last races with anything.  */
static int
races (uint32_t first, int in_step)
{
  for (uint32_t i = first; i < count; i++)
    for (uint32_t k = 0; k < first; k++)
      if (done[i].word == done[k].word && (done[i].writes || done[k].writes)
          && (done[i].warp != done[k].warp
              || (!in_step && done[i].lane != done[k].lane && done[i].syncs == done[k].syncs)))
        return 1;
  return 0;
}
int
main (void)
{
  uint32_t took = 0;
  int vectors = __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("bmi2"), in_step = 0;
  one.marks = marks[0] + 32, two.marks = marks[1] + 32;
  one.stamp = two.stamp = GOMPY_STAMP;
  for (uint32_t round = 0; round < ROUNDS; round++)
    {
      uint32_t warp = number (3), mask = number (1 << 24) << 8 | number (256), step, shift = number (3), first = count;
      uint32_t size = 4u << shift, mine = gompy_mark_of (&one, warp, in_step, &step), most, at;
      uint64_t a[GOMPY_LANES];
      int writes = number (3) == 0, right, other = -1;
      if (number (3) == 0)
        mask = number (4) ? ~0u : 1u << number (32);
      mask = mask ? mask : 1;
      most = 1 + number (WORDS / (size / 4));
      at = number (4) ? number (2) * 32 : number (WORDS - 32 * size / 4 + 1);
      at = at > WORDS - 32 * size / 4 ? 0 : at;
      for (int lane = 0, row = number (2); lane < GOMPY_LANES; lane++)
        a[lane] = row ? 0 : GOMPY_SHARED_BASE + number (most) * size;
      if (!a[0])
        {
          right = gompy_mark_row_usual (one.marks + at, mask, shift, mine, step, writes);
          if (vectors)
            other = gompy_mark_row_avx512 (two.marks + at, mask, shift, mine, step, writes);
        }
      else
        {
          right = gompy_mark_lanes_usual (&one, a, mask, size, mine, step, writes);
          if (vectors)
            other = gompy_mark_lanes_avx512 (&two, a, mask, size, mine, step, writes);
        }
      if (vectors && (right != other || (right && differ (marks[0], marks[1]))))
        return printf ("round %u: %d, %d\n", round, right, other), 1;
      for (uint32_t lane = 0; lane < GOMPY_LANES; lane++)
        for (uint32_t i = 0; i < size / 4 && mask >> lane & 1; i++)
          add (a[0] ? (uint32_t) (a[lane] - GOMPY_SHARED_BASE) / 4 + i : at + (lane << shift) + i, warp, lane, round,
               writes);
      if (right && races (first, in_step))
        return printf ("round %u: a race\n", round), 2;
      took += right;
      if (!right || count > MOST - 130 || number (9) == 0)
        {
          one.stamp = one.stamp + GOMPY_STAMP ? one.stamp + GOMPY_STAMP : GOMPY_STAMP;
          if (one.stamp == GOMPY_STAMP)
            memset (marks[0], 0, sizeof marks[0]);
          memcpy (marks[1], marks[0], sizeof marks[0]);
          two.stamp = one.stamp;
          count = 0;
          in_step = number (4) == 0;
        }
      if (number (4) == 0)
        one.syncs[warp] = two.syncs[warp] = (one.syncs[warp] + GOMPY_SYNC) & (GOMPY_STAMP - 1);
    }
  return took < ROUNDS / 4 ? printf ("%u only\n", took), 3 : 0;
}
"""


@has_headers
def test_marks_agree_with_a_model(tmp_path: Path) -> None:
    """Random rows and lanes, with barriers and __syncwarp between them, held against all pairs of accesses."""
    assert outcome(compiled(tmp_path, "marks", PROGRAM)) == (0, "")
