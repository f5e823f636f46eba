/* A gas in a box: a loop over cells; the region makes a structure of the device's addresses.  */
#include "flux.h"

static void
blow (mesh cells, float *gas)
{
  int n = cells.n;
  const int *neighbours = cells.neighbours;
  const float *x = cells.normals_x, *y = cells.normals_y;
  float *other = new_array (float, n * quantities);
#pragma omp target data map(to : neighbours[:n * faces], x[:n * faces], y[:n * faces]) map(gas[:n * quantities])       \
  map(alloc : other[:n * quantities])
  {
    kernels_begin ();
    for (int step = 0; step < steps; step++)
      {
        const float *from = step % 2 ? other : gas;
        float *to = step % 2 ? gas : other;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++)
          {
            mesh device = { neighbours, x, y, n };
            step_cell (device, from, to, i);
          }
      }
    kernels_end ();
  }
  free (other);
}
