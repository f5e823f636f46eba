/* Heat in a plate: a region for each step; the plate stays on the device, beside one that is there alone.  */
#include "stencil.h"

static void
heat (float *plate, int width, int height)
{
  int size = width * height;
  float *other = new_array (float, size), weight = heat_weights[0], weight_near = heat_weights[1];
  memcpy (other, plate, size * sizeof *other);
#pragma omp target data map(tofrom : plate[:size]) map(to : other[:size])
  {
    kernels_begin ();
    for (int step = 0; step < steps; step++)
      {
        const float *from = step % 2 ? other : plate;
        float *to = step % 2 ? plate : other;
#pragma omp target teams distribute parallel for
        for (int y = 1; y < height - 1; y++)
          for (int i = y * width + 1; i < (y + 1) * width - 1; i++)
            to[i] = weight * from[i] + weight_near * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
      }
    kernels_end ();
  }
  free (other);
}
