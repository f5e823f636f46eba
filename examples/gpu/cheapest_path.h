/* The cheapest way down a wall, a stone at a time, straight or aslant: the host's part.  */
#include "common.h"

enum { steps = 64, far = 1 << 28 };

#pragma omp declare target
DEVICE static inline int
least (int left, int here, int right)
{
  int side = left < right ? left : right;
  return side < here ? side : here;
}
#pragma omp end declare target

/* wall: steps + 1 rows.  costs: of the ways to each stone of the last row.  */
static void descend (const int *wall, int width, int *costs);

int
main (int argc, char **argv)
{
  int width = size_argument (argc, argv, 3000), *wall = new_array (int, (size_t) (steps + 1) * width);
  int *costs = new_array (int, width), *row = new_array (int, width), *want = new_array (int, width), cheapest = far;
  for (int i = 0; i < (steps + 1) * width; i++)
    wall[i] = scrambled (i) % 10;
  do
    descend (wall, width, costs);
  while (again ());
  memcpy (want, wall, width * sizeof *want);
  for (int y = 1; y <= steps; y++)
    {
      memcpy (row, want, width * sizeof *row);
      for (int x = 0; x < width; x++)
        want[x] = wall[y * width + x] + least (x ? row[x - 1] : far, row[x], x + 1 < width ? row[x + 1] : far);
    }
  for (int x = 0; x < width; x++)
    {
      if (costs[x] != want[x])
        return wrong ("the way to %d costs %d, not %d", x, costs[x], want[x]);
      cheapest = want[x] < cheapest ? want[x] : cheapest;
    }
  printf ("cheapest path: of %d ways of %d steps the cheapest costs %d\n", width, steps, cheapest);
  free (wall), free (costs), free (row), free (want);
}
