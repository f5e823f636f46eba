"""The clocks of races.h at their end: a block that uses them up goes on, and says nothing that is wrong."""

from __future__ import annotations

from pathlib import Path

from race_headers import compiled, has_headers, outcome

PROGRAM = r"""
#include <stdio.h>
#include "race_later.h"
static struct gompy_races *r;
static int
touch (uint32_t warp, uint32_t lane, uint64_t address, int writes)
{
  struct gompy_race_found found;
  struct gompy_access access = gompy_race_access (r, warp, 4, 1 << 16, writes, 0);
  return gompy_race_one (r, &access, address, lane, 4096, &found);
}
static void
meet (void)
{
  for (uint32_t w = 0; w < 2; w++) gompy_race_arrive (r, w, 0);
  for (uint32_t w = 0; w < 2; w++) gompy_race_leave (r, w, 0);
  gompy_race_empty (r, 0);
}
int
main (void)
{
  static char memory[4096];
  uint64_t base = (uint64_t) (uintptr_t) memory;
  r = gompy_race_new ();
  if (gompy_race_launch (r, base, sizeof memory, NULL, NULL) || gompy_race_block (r, 7, 2, 4096)) return 1;
  r->epoch = GOMPY_EPOCH_LAST - 2;
  for (uint32_t i = 0; i < 400; i++)
    {
      uint64_t a = base + 8 * i;
      int wrong = touch (0, 3, a, 1);
      if (i % 2)
        meet ();
      else
        gompy_race_warp_sync (r, 0);
      wrong |= i % 2 ? touch (1, 3, a, 0) : touch (0, 4, a, 0);
      wrong |= !touch (1 - i % 2, 5, a, 1) << 1; /* of the other warp, or of this one's other lane */
      if (wrong)
        return printf ("%u: %d, epoch %d\n", i, wrong, r->epoch), 2;
      if (gompy_race_block_of (r, r->epoch) != 7) return 3;
      if (i == 200) r->epoch = GOMPY_EPOCH_LAST - 5;
    }
  return r->epoch > 100000 ? 4 : 0;
}
"""


@has_headers
def test_clocks_begin_anew(tmp_path: Path) -> None:
    """Barriers of all and __syncwarp order accesses where the numbers end, and what they do not order is found."""
    assert outcome(compiled(tmp_path, "epochs", PROGRAM)) == (0, "")
