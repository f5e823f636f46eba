/* How well two sequences match: a region for each diagonal of tiles, a thread for each tile.  */
#include "alignment.h"

static void
fill (const char *one, const char *other, int *table, int n)
{
  int tiles = n / tile, width = n + 1;
#pragma omp target data map(to : one[:n], other[:n]) map(table[:width * width])
  {
    kernels_begin ();
    for (int diagonal = 0; diagonal < 2 * tiles - 1; diagonal++)
      {
        int first = diagonal < tiles ? 0 : diagonal - tiles + 1, last = diagonal < tiles ? diagonal : tiles - 1;
#pragma omp target teams distribute parallel for
        for (int tile_x = first; tile_x <= last; tile_x++)
          for (int y = (diagonal - tile_x) * tile; y < (diagonal - tile_x + 1) * tile; y++)
            for (int x = tile_x * tile; x < (tile_x + 1) * tile; x++)
              {
                int above = y * width + x + 1, cell = above + width;
                table[cell] = best (table[above - 1], table[above], table[cell - 1], one[x] == other[y]);
              }
      }
    kernels_end ();
  }
}
