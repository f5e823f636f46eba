/* How many edges each node of a graph is away from the first: the host's part.  */
#include "common.h"

/* The edges of node i go to edges[starts[i]] and so on, before edges[starts[i + 1]].  level: -1 for "not reached".  */
static void search (const int *starts, const int *edges, int n, int *level);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 5000), *starts = new_array (int, n + 1);
  for (int i = 0; i < n; i++)
    starts[i + 1] = starts[i] + 1 + scrambled (i) % 3;
  int *edges = new_array (int, starts[n] + 1), *level = new_array (int, n), *want = new_array (int, n);
  int *queue = new_array (int, n), deepest = 0, reached = 0;
  for (int i = 0; i < starts[n]; i++)
    edges[i] = scrambled (n + i) % n;
  do
    search (starts, edges, n, level);
  while (again ());
  for (int i = 0; i < n; i++)
    want[i] = i ? -1 : 0;
  for (int from = (reached = 1, 0); from < reached; from++)
    for (int node = queue[from], k = starts[node]; k < starts[node + 1]; k++)
      if (want[edges[k]] < 0)
        {
          deepest = want[edges[k]] = want[node] + 1;
          queue[reached++] = edges[k];
        }
  for (int i = 0; i < n; i++)
    if (level[i] != want[i])
      return wrong ("node %d is on level %d, not %d", i, level[i], want[i]);
  printf ("breadth first: %d of %d nodes on %d levels are right\n", reached, n, deepest + 1);
  free (starts), free (edges), free (level), free (want), free (queue);
}
