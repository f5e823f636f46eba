/* A = L U without pivots, in place: the host's part.  */
#include "common.h"

enum { tile = 16 };

static void factor (double *a, int n);

int
main (int argc, char **argv)
{
  int n = (size_argument (argc, argv, 96) + tile - 1) / tile * tile;
  double *start = new_array (double, n * n), *a = new_array (double, n * n);
  for (int i = 0; i < n * n; i++)
    start[i] = i / n == i % n ? n : fraction (i); /* the diagonal is so great that no pivots are needed */
  do
    {
      memcpy (a, start, n * n * sizeof *a);
      factor (a, n);
    }
  while (again ());
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++)
      {
        double times = start[i * n + k] /= start[k * n + k];
        for (int j = k + 1; j < n; j++)
          start[i * n + j] -= times * start[k * n + j];
      }
  for (int i = 0; i < n * n; i++)
    if (differ (a[i], start[i], 1e-9))
      return wrong ("%g at %d, %d, not %g", a[i], i / n, i % n, start[i]);
  printf ("lu: the factors of a %d x %d matrix are right\n", n, n);
  free (start), free (a);
}
