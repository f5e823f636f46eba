/* How soon z = z² + c escapes: rows take different times, so threads take the next when they are ready.  */
#include "mandelbrot.h"

static void
draw (unsigned char *picture, int n)
{
#pragma omp target data map(from : picture[:n * n])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for schedule(dynamic)
    for (int y = 0; y < n; y++)
      for (int x = 0; x < n; x++)
        picture[y * n + x] = steps_until_escape (x, y, n);
    kernels_end ();
  }
}
