/* How soon z = z² + c escapes, for each point c of a picture: the host's part.  */
#include "common.h"

enum { limit = 200, point = 26 };

/* Numbers are in fixed point, so that they are rounded alike everywhere.  */
#pragma omp declare target
DEVICE static inline int
steps_until_escape (int px, int py, int n)
{
  int cx = (int) ((((long long) 3 << point) * px) / n) - (2 << point);
  int cy = (int) ((((long long) 3 << point) * py) / n) - (3 << (point - 1));
  int x = 0, y = 0, step;
  for (step = 0; step < limit; step++)
    {
      long long xx = (long long) x * x, yy = (long long) y * y, xy = (long long) x * y;
      if (xx + yy > (long long) 4 << (2 * point))
        break;
      x = (int) ((xx - yy) >> point) + cx;
      y = (int) (xy >> (point - 1)) + cy;
    }
  return step;
}
#pragma omp end declare target

static void draw (unsigned char *picture, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 150), inside = 0;
  unsigned char *picture = new_array (unsigned char, n * n);
  do
    draw (picture, n);
  while (again ());
  for (int i = 0; i < n * n; i++)
    {
      int want = steps_until_escape (i % n, i / n, n);
      if (picture[i] != want)
        return wrong ("%d steps at %d, %d, not %d", picture[i], i % n, i / n, want);
      inside += want == limit;
    }
  printf ("mandelbrot: of %d points %d do not escape in %d steps\n", n * n, inside, limit);
  free (picture);
}
