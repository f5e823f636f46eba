"""What is remembered of streams' operations (race_lines.h) is held against a list of all accesses."""

from __future__ import annotations

from pathlib import Path

from race_headers import compiled, has_headers, outcome

PROGRAM = r"""
#include <stdio.h>
#include "race_told.h"
enum { WORDS = 160, STREAMS = 3, OPERATIONS = 20000, AGAIN = 40, MOST = 4096 };
static char memory[4 * (WORDS + 64)] __attribute__ ((aligned (128)));
static uint32_t state = 1, count, phase, all_told, skipped;
/* Accesses since the program has waited for all, by operation; what each operation comes after.  */
static struct { uint32_t word, of; int writes; } done[MOST];
static struct { uint32_t stream; uint64_t before[STREAMS], ticket; } operations[AGAIN];
static uint64_t known[STREAMS][STREAMS], tickets[STREAMS];
static uint32_t
number (uint32_t most)
{
  state = state * 1664525 + 1013904223;
  return (state >> 8) % most;
}
static int
ordered (uint32_t earlier, uint32_t later)
{
  return earlier == later || operations[later].before[operations[earlier].stream] >= operations[earlier].ticket;
}
/* Of an access of WORD by an operation: 1 if something races with it, 2 if the last write does, or the last read.  */
static int
races (uint32_t word, uint32_t operation, int writes)
{
  int found = 0, last = 1;
  for (uint32_t i = count; i-- > 0;)
    if (done[i].word == word)
      {
        if ((writes || done[i].writes) && !ordered (done[i].of, operation))
          found |= last || done[i].writes ? 3 : 1;
        if (done[i].writes)
          {
            for (uint32_t k = 0; k < i && !(found & 1); k++)
              found |= done[k].word == word && (writes || done[k].writes) && !ordered (done[k].of, operation);
            break;
          }
        last = 0;
      }
  return found;
}
/* As compiled code looks before it tells of a row (racing.py), beyond the last line's bytes as well.  */
static int
read_before (const struct gompy_races *r, uint32_t mask, uint64_t first)
{
  uint64_t offset = first - r->base, last = gompy_read_last (r->size), since = (uint32_t) r->own_first;
  uint64_t line = offset >> 7 < last ? offset >> 7 : last, next = offset + 124 >> 7 < last ? offset + 124 >> 7 : last;
  uint64_t words = (uint64_t) mask << (offset >> 2 & 31);
  return r->read[line] >> 32 == since && r->read[next] >> 32 == since
         && !(words & ~((uint32_t) r->read[line] | r->read[next] << 32));
}
static int
tell (struct gompy_races *r, struct gompy_warp *w, int writes, int quiet)
{
  uint64_t a[GOMPY_LANES], first = (uint64_t) (uintptr_t) memory;
  uint32_t size = phase ? 4 : 4u << number (2), words = size / 4;
  uint32_t mask = number (3) ? ~0u : number (1 << 24) << 8 | number (256) | 1;
  uint32_t at = number (2) ? number (WORDS / 16 - 2 * words) * 16 : number (WORDS - 32 * words), of = r->nworks - 1;
  int row = number (4) != 0, told = 0, expected = 0;
  struct gompy_race_found found = { 0 };
  struct gompy_access access;
  w->warpid = number (r->nwarps);
  access = gompy_race_access (r, w->warpid, size, (1 + of) << 16, writes, GOMPY_IN_STEP);
  if (!row && number (2))
    mask = 1u << number (32);
  first += 4 * at;
  for (uint32_t lane = 0; lane < GOMPY_LANES; lane++)
    {
      uint32_t word = row ? at + lane * words : number (WORDS / words) * words;
      a[lane] = (uint64_t) (uintptr_t) memory + 4 * word;
      for (uint32_t i = 0; i < words && mask >> lane & 1; i++)
        expected |= races (word + i, of, writes);
    }
  if (quiet && row)
    access.quiet_since = gompy_race_quiet_since (r, mask, first, size);
  if (quiet && row && size == 4 && read_before (r, mask, first))
    skipped++;
  else if (!quiet || !row
           || !gompy_race_row_again (w, mask, first, first + size * 16, size | (writes ? GOMPY_RACE_WRITES : 0)))
    {
      uint32_t left = row ? gompy_race_row_now (r, &access, mask, first, 0) : mask;
      for (int lane = 0; left && lane < GOMPY_LANES; lane++)
        if ((lane = gompy_race_lanes (r, &access, left, a, 0, lane, &found)) < GOMPY_LANES)
          told = 1;
      if (quiet && row) /* as op_race_row does */
        gompy_race_row_read (r, mask, first, size);
    }
  for (uint32_t lane = 0; lane < GOMPY_LANES; lane++)
    for (uint32_t i = 0; i < words && mask >> lane & 1; i++)
      if (count < MOST)
        {
          done[count].word = (uint32_t) (a[lane] - (uint64_t) (uintptr_t) memory) / 4 + i;
          done[count].of = of;
          done[count++].writes = writes;
        }
  all_told += told;
  if (told && !expected)
    return printf ("told, but no race\n"), 1;
  if (!told && expected & 2)
    return printf ("missed\n"), 2;
  return 0;
}
int
main (void)
{
  struct gompy_races *r = gompy_race_new ();
  static struct gompy_warp w;
  static ptx_order order;
  static const uint32_t rare[] = { 1, 16, 4, 2 };
  w.races = r;
  for (uint32_t n = 0; n < OPERATIONS; n++)
    {
      uint32_t stream = number (4) ? 0 : number (STREAMS), reads = number (2);
      struct gompy_work work = { .stream = stream };
      if (n % AGAIN == 0 || count + 300 > MOST) /* the program waits for all */
        {
          memcpy (order.always, tickets, sizeof tickets);
          count = 0;
          for (uint32_t i = 0; i < STREAMS; i++)
            memcpy (known[i], tickets, sizeof tickets);
        }
      phase = n / AGAIN % 4;
      for (uint32_t other = 0; other < STREAMS && (!phase || number (rare[phase])); other++) /* events of all others */
        for (uint32_t i = 0; i < STREAMS; i++)
          known[stream][i] = known[other][i] > known[stream][i] ? known[other][i] : known[stream][i];
      memcpy (order.before, known[stream], sizeof known[stream]);
      order.stream = stream;
      order.ticket = work.ticket = ++tickets[stream];
      if (gompy_race_launch (r, (uint64_t) (uintptr_t) memory, sizeof memory, &order, &work)
          || gompy_race_block (r, 0, 2, 0))
        return 3;
      operations[r->nworks - 1].stream = stream;
      operations[r->nworks - 1].ticket = work.ticket;
      memcpy (operations[r->nworks - 1].before, known[stream], sizeof known[stream]);
      known[stream][stream] = tickets[stream];
      if (reads)
        gompy_race_add_quiet (r, r->base, r->size);
      for (uint32_t k = number (4) + 1; k > 0; k--)
        {
          if (reads && number (3) == 0 && gompy_race_block (r, 1, 2, 0))
            return 3;
          int result = tell (r, &w, !reads, reads);
          if (result)
            return printf ("operation %u\n", n), result;
          if (!reads) /* one write an operation: others of it might race with it */
            break;
        }
    }
  return all_told < 200 || skipped < 50 ? printf ("%u, %u only\n", all_told, skipped), 4 : 0;
}
"""


@has_headers
def test_streams_agree_with_a_model(tmp_path: Path) -> None:
    """What is told is a race, and a race with a word's last write, or its last read, is told."""
    assert outcome(compiled(tmp_path, "streams", PROGRAM, "-D_GNU_SOURCE")) == (0, "")
