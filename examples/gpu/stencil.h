/* Heat in a plate, the mean of four neighbours: the host's part.  */
#include "common.h"

enum { steps = 20 };
static const float heat_weights[2] = { 0.5f, 0.125f }; /* of the point, of each neighbour */

static void heat (float *plate, int width, int height);

int
main (int argc, char **argv)
{
  int width = size_argument (argc, argv, 75), height = width * 2 / 3, size = width * height;
  float *start = new_array (float, size), *plate = new_array (float, size), *other = new_array (float, size);
  for (int i = 0; i < size; i++)
    start[i] = (float) (i * 37LL % 101);
  do
    {
      memcpy (plate, start, size * sizeof *plate);
      heat (plate, width, height);
    }
  while (again ());
  memcpy (other, start, size * sizeof *other);
  for (int step = 0; step < steps; step++)
    {
      float *from = step % 2 ? other : start, *to = step % 2 ? start : other;
      for (int y = 1; y < height - 1; y++)
        for (int i = y * width + 1; i < (y + 1) * width - 1; i++)
          to[i] = heat_weights[0] * from[i]
                  + heat_weights[1] * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
    }
  for (int i = 0; i < size; i++)
    if (differ (plate[i], start[i], 1e-5))
      return wrong ("%g at %d, %d, not %g", plate[i], i % width, i / width, start[i]);
  printf ("stencil: %d steps on %d x %d points are right\n", steps, width, height);
  free (start), free (plate), free (other);
}
