/* What copies and fills access, for races between streams (races.h has how these are told from others).  */
#ifndef GOMPY_PTX_RACE_STREAMS_H
#define GOMPY_PTX_RACE_STREAMS_H

#include "race_accesses.h"

enum { GOMPY_LINE_BYTES = 4 * GOMPY_LINE };

/* SIZE bytes, as by one lane of one warp at a place.  Whether they race; FOUND says with what, the first of it.  */
static int
gompy_race_bytes (struct gompy_races *r, uint32_t site, uint64_t address, uint64_t size, int writes,
                  struct gompy_race_found *found)
{
  struct gompy_access access = gompy_race_access (r, 0, 16, site << 16, writes, 0);
  struct gompy_race_found one;
  uint64_t end = address + size;
  int races = 0;
  while (address < end)
    {
      uint64_t left = end - address, number = (address - r->base) / 4;
      if (address % GOMPY_LINE_BYTES == 0 && left >= GOMPY_LINE_BYTES
          && !gompy_line_access (r, &access, r->memory.lines + number / GOMPY_LINE,
                                 gompy_line_words (&r->memory, number), ~0u, access.who | GOMPY_ROW_LONE << 12))
        {
          address += GOMPY_LINE_BYTES;
          continue;
        }
      access.size = address & 3 || left < 4 ? 1 : 4;
      if (gompy_race_one (r, &access, address, 0, 0, &one) && !races)
        {
          *found = one;
          races = 1;
        }
      address += access.size;
    }
  return races;
}

#endif
