/* Speckles taken out of a picture: smoothed where it is no rougher than on the whole.  The host's part.  */
#include "common.h"

enum { turns = 4 };

#pragma omp declare target
typedef struct
{
  float up, down, left, right;
} slopes;

/* To the four neighbours; beyond the edge everything is as on it.  */
DEVICE static inline slopes
slopes_at (const float *picture, int n, int x, int y)
{
  float here = picture[y * n + x];
  slopes to;
  to.up = picture[(y > 0 ? y - 1 : y) * n + x] - here;
  to.down = picture[(y < n - 1 ? y + 1 : y) * n + x] - here;
  to.left = picture[y * n + (x > 0 ? x - 1 : x)] - here;
  to.right = picture[y * n + (x < n - 1 ? x + 1 : x)] - here;
  return to;
}

/* How much flows at a place, 0 to 1 (Yu and Acton 2002).  rough: the picture's variance by its squared mean.  */
DEVICE static inline float
openness (const float *picture, int n, int x, int y, float rough)
{
  float here = picture[y * n + x];
  slopes to = slopes_at (picture, n, x, y);
  float squares = (to.up * to.up + to.down * to.down + to.left * to.left + to.right * to.right) / (here * here);
  float sum = (to.up + to.down + to.left + to.right) / here, base = 1 + 0.25f * sum;
  float own = (0.5f * squares - 0.0625f * sum * sum) / (base * base);
  float open = 1 / (1 + (own - rough) / (rough * (1 + rough)));
  return open < 0 ? 0 : open > 1 ? 1 : open;
}

DEVICE static inline float
smoothed (const float *picture, const float *open, int n, int x, int y)
{
  slopes to = slopes_at (picture, n, x, y);
  float here = open[y * n + x], below = open[(y < n - 1 ? y + 1 : y) * n + x];
  float beside = open[y * n + (x < n - 1 ? x + 1 : x)];
  return picture[y * n + x] + 0.125f * (here * (to.up + to.left) + below * to.down + beside * to.right);
}

DEVICE static inline float
roughness (double sum, double squares, int count)
{
  double mean = sum / count;
  return (float) ((squares / count - mean * mean) / (mean * mean));
}
#pragma omp end declare target

static void smooth (float *picture, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 90), size = n * n;
  float *start = new_array (float, size), *picture = new_array (float, size), *open = new_array (float, size);
  float *want = new_array (float, size);
  for (int i = 0; i < size; i++)
    start[i] = (1 + (i % n > n / 3) + (i / n > n / 2)) * (0.75f + 0.5f * fraction (i));
  do
    {
      memcpy (picture, start, size * sizeof *picture);
      smooth (picture, n);
    }
  while (again ());
  for (int turn = 0; turn < turns; turn++)
    {
      double sum = 0, squares = 0;
      for (int i = 0; i < size; i++)
        sum += start[i], squares += start[i] * start[i];
      for (int i = 0; i < size; i++)
        open[i] = openness (start, n, i % n, i / n, roughness (sum, squares, size));
      for (int i = 0; i < size; i++)
        want[i] = smoothed (start, open, n, i % n, i / n);
      memcpy (start, want, size * sizeof *start);
    }
  for (int i = 0; i < size; i++)
    if (differ (picture[i], want[i], 1e-4))
      return wrong ("%g at %d, %d, not %g", picture[i], i % n, i / n, want[i]);
  printf ("diffusion: a picture of %d x %d points after %d turns is right\n", n, n, turns);
  free (start), free (picture), free (open), free (want);
}
