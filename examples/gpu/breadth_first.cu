/* How many edges each node is away from the first: a thread for each node of a level; they list the next one's.  */
#include "breadth_first.h"
#include "common.cuh"
#include <utility>

__global__ void
next_level (const int *starts, const int *edges, int *level, int now, const int *nodes, int count, int *next,
            int *found)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  for (int k = starts[nodes[i]]; k < starts[nodes[i] + 1]; k++)
    if (atomicCAS (&level[edges[k]], -1, now + 1) == -1) /* of several threads one is the first */
      next[atomicAdd (found, 1)] = edges[k];
}

static void
search (const int *starts, const int *edges, int n, int *level)
{
  int *all_starts = to_device (starts, n + 1), *all_edges = to_device (edges, starts[n] + 1);
  int *levels = device_array<int> (n), *nodes = device_array<int> (n), *next = device_array<int> (n);
  int *found = device_array<int> (1);
  CHECK (cudaMemset (levels, -1, n * sizeof *levels));
  CHECK (cudaMemset (levels, 0, sizeof *levels));
  CHECK (cudaMemset (nodes, 0, sizeof *nodes));
  kernels_begin ();
  for (int now = 0, count = 1; count; now++, std::swap (nodes, next))
    {
      CHECK (cudaMemset (found, 0, sizeof *found));
      next_level<<<(count + 127) / 128, 128>>> (all_starts, all_edges, levels, now, nodes, count, next, found);
      to_host (&count, found, 1);
    }
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (level, levels, n);
  device_free ({ all_starts, all_edges, levels, nodes, next, found });
}
