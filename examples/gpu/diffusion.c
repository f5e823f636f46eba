/* Speckles taken out of a picture: a reduction, then two loops over all points.  */
#include "diffusion.h"

static void
smooth (float *picture, int n)
{
  int size = n * n;
  float *other = new_array (float, size), *open = new_array (float, size);
#pragma omp target data map(picture[:size]) map(alloc : other[:size], open[:size])
  {
    kernels_begin ();
    for (int turn = 0; turn < turns; turn++)
      {
        const float *from = turn % 2 ? other : picture;
        float *to = turn % 2 ? picture : other;
        double sum = 0, squares = 0;
#pragma omp target teams distribute parallel for reduction(+ : sum, squares) map(sum, squares)
        for (int i = 0; i < size; i++)
          sum += from[i], squares += (double) from[i] * from[i];
        float rough = roughness (sum, squares, size);
#pragma omp target teams distribute parallel for collapse(2)
        for (int y = 0; y < n; y++)
          for (int x = 0; x < n; x++)
            open[y * n + x] = openness (from, n, x, y, rough);
#pragma omp target teams distribute parallel for collapse(2)
        for (int y = 0; y < n; y++)
          for (int x = 0; x < n; x++)
            to[y * n + x] = smoothed (from, open, n, x, y);
      }
    kernels_end ();
  }
  free (other), free (open);
}
