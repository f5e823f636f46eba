/* How well two sequences match, each letter or a gap beside each: the host's part.  */
#include "common.h"

enum { tile = 32 };

/* What a cell of the table is worth: a letter beside a letter, or a gap in one of the two.  */
#pragma omp declare target
DEVICE static inline int
best (int corner, int above, int left, int same)
{
  int together = corner + (same ? 3 : -2), gap = (above > left ? above : left) - 1;
  return together > gap ? together : gap;
}
#pragma omp end declare target

/* table: n + 1 rows of n + 1 cells, of which the first row and column are filled; n is a multiple of a tile.  */
static void fill (const char *one, const char *other, int *table, int n);

int
main (int argc, char **argv)
{
  int n = (size_argument (argc, argv, 256) + tile - 1) / tile * tile, width = n + 1;
  char *one = new_array (char, n), *other = new_array (char, n);
  int *start = new_array (int, (size_t) width * width), *table = new_array (int, (size_t) width * width);
  for (int i = 0; i < n; i++)
    {
      one[i] = "ACGT"[scrambled (i) % 4];
      other[i] = scrambled (~i) % 4 ? one[i] : 'A';
      start[i + 1] = start[(i + 1) * width] = -i - 1;
    }
  do
    {
      memcpy (table, start, (size_t) width * width * sizeof *table);
      fill (one, other, table, n);
    }
  while (again ());
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      {
        int *above = &start[y * width + x + 1], *cell = above + width;
        *cell = best (above[-1], *above, cell[-1], one[x] == other[y]);
        if (table[cell - start] != *cell)
          return wrong ("%d at %d, %d, not %d", table[cell - start], x, y, *cell);
      }
  printf ("alignment: two sequences of %d letters match by %d\n", n, table[width * width - 1]);
  free (one), free (other), free (start), free (table);
}
