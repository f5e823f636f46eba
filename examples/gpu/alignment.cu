/* How well two sequences match: tiles of one diagonal at once, a warp each; in a tile each lane has a column.  */
#include "alignment.h"
#include "common.cuh"

__global__ void
fill_tiles (const char *one, const char *other, int *table, int n, int diagonal, int first)
{
  __shared__ int cells[tile + 1][tile + 1];
  __shared__ char letters[tile];
  int lane = threadIdx.x, tile_x = first + blockIdx.x, width = n + 1;
  int x = tile_x * tile + lane, y = (diagonal - tile_x) * tile;
  table += y * width + tile_x * tile; /* the tile, with the cells above it and to its left */
  char own = one[x];
  letters[lane] = other[y + lane];
  cells[0][lane + 1] = table[lane + 1];
  cells[lane + 1][0] = table[(lane + 1) * width];
  if (lane == 0)
    cells[0][0] = table[0];
  for (int step = 0; step < 2 * tile - 1; step++)
    {
      int row = step - lane;
      __syncwarp ();
      if (row >= 0 && row < tile)
        cells[row + 1][lane + 1]
          = best (cells[row][lane], cells[row][lane + 1], cells[row + 1][lane], own == letters[row]);
    }
  __syncwarp ();
  for (int row = 1; row <= tile; row++)
    table[row * width + lane + 1] = cells[row][lane + 1];
}

static void
fill (const char *one, const char *other, int *table, int n)
{
  int tiles = n / tile, cells = (n + 1) * (n + 1), *device = to_device (table, cells);
  char *columns = to_device (one, n), *rows = to_device (other, n);
  kernels_begin ();
  for (int diagonal = 0; diagonal < 2 * tiles - 1; diagonal++)
    {
      int first = diagonal < tiles ? 0 : diagonal - tiles + 1, last = diagonal < tiles ? diagonal : tiles - 1;
      fill_tiles<<<last - first + 1, tile>>> (columns, rows, device, n, diagonal, first);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (table, device, cells);
  device_free ({ device, columns, rows });
}
