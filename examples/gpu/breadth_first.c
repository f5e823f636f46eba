/* How many edges each node is away from the first: a region for each level, which makes the next one's list.  */
#include "breadth_first.h"

static void
search (const int *starts, const int *edges, int n, int *level)
{
  int *lists = new_array (int, 2 * n), *seen = new_array (int, n), all = starts[n];
  for (int i = 0; i < n; i++)
    level[i] = i ? -1 : 0;
  seen[0] = 1;
#pragma omp target data map(to : starts[:n + 1], edges[:all], lists[:2 * n], seen[:n]) map(level[:n])
  {
    kernels_begin ();
    for (int now = 0, count = 1, found; count; now++, count = found)
      {
        const int *nodes = lists + now % 2 * n;
        int *next = lists + (now + 1) % 2 * n;
        found = 0;
#pragma omp target teams distribute parallel for map(found)
        for (int i = 0; i < count; i++)
          for (int k = starts[nodes[i]]; k < starts[nodes[i] + 1]; k++)
            {
              int before, place;
#pragma omp atomic capture
              { before = seen[edges[k]]; seen[edges[k]] = 1; } /* of several threads one is the first */
              if (before)
                continue;
              level[edges[k]] = now + 1;
#pragma omp atomic capture
              place = found++;
              next[place] = edges[k];
            }
      }
    kernels_end ();
  }
  free (lists), free (seen);
}
