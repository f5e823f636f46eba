/* A gas in a box: a thread for each cell, which reads its neighbours wherever they are.  */
#include "flux.h"
#include "common.cuh"
#include <utility>

__global__ void
one_step (mesh cells, const float *from, float *to)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells.n)
    step_cell (cells, from, to, i);
}

static void
blow (mesh cells, float *gas)
{
  int n = cells.n, *neighbours = to_device (cells.neighbours, n * faces);
  float *x = to_device (cells.normals_x, n * faces), *y = to_device (cells.normals_y, n * faces);
  float *from = to_device (gas, n * quantities), *to = device_array<float> (n * quantities);
  mesh device = { neighbours, x, y, n };
  kernels_begin ();
  for (int step = 0; step < steps; step++, std::swap (from, to))
    one_step<<<(n + 127) / 128, 128>>> (device, from, to);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (gas, from, n * quantities);
  device_free ({ neighbours, x, y, from, to });
}
