/* The cheapest way down a wall: a region for each row, from one array of costs into the other.  */
#include "cheapest_path.h"

static void
descend (const int *wall, int width, int *costs)
{
  int *other = new_array (int, width);
  memcpy (costs, wall, width * sizeof *costs);
#pragma omp target data map(to : wall[:(steps + 1) * width]) map(costs[:width]) map(alloc : other[:width])
  {
    kernels_begin ();
    for (int y = 1; y <= steps; y++)
      {
        const int *from = y % 2 ? costs : other;
        int *to = y % 2 ? other : costs;
#pragma omp target teams distribute parallel for
        for (int x = 0; x < width; x++)
          to[x] = wall[y * width + x] + least (x ? from[x - 1] : far, from[x], x + 1 < width ? from[x + 1] : far);
      }
    kernels_end ();
  }
  free (other);
}
