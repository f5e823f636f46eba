/* The cheapest way down a wall: some rows a kernel; blocks overlap, for each row they know a stone less a side.  */
#include "cheapest_path.h"
#include "common.cuh"
#include <utility>

constexpr int threads = 256, deep = 16, useful = threads - 2 * deep;

__global__ void
some_rows (const int *rows, int width, const int *from, int *to)
{
  __shared__ int costs[2][threads];
  int t = threadIdx.x, x = blockIdx.x * useful + t - deep, now = 0;
  bool inside = x >= 0 && x < width;
  costs[0][t] = inside ? from[x] : far;
  for (int step = 0; step < deep; step++, now = !now)
    {
      __syncthreads ();
      int cost = far;
      if (inside && t > step && t < threads - 1 - step)
        cost = rows[step * width + x] + least (costs[now][t - 1], costs[now][t], costs[now][t + 1]);
      costs[!now][t] = cost;
    }
  if (inside && t >= deep && t < threads - deep)
    to[x] = costs[now][t];
}

static void
descend (const int *wall, int width, int *costs)
{
  int *rows = to_device (wall, (size_t) (steps + 1) * width);
  int *from = to_device (wall, width), *to = device_array<int> (width);
  kernels_begin ();
  for (int y = 1; y <= steps; y += deep, std::swap (from, to))
    some_rows<<<(width + useful - 1) / useful, threads>>> (rows + y * width, width, from, to);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (costs, from, width);
  device_free ({ rows, from, to });
}
