/* A matrix product: the host's part.  */
#include "common.h"

static void multiply (const double *a, const double *b, double *c, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 100); /* no multiple of a tile */
  double *a = new_array (double, n * n), *b = new_array (double, n * n), *c = new_array (double, n * n);
  for (int i = 0; i < n * n; i++)
    a[i] = i % 17 - 8, b[i] = i % 13 - 6;
  do
    multiply (a, b, c, n);
  while (again ());
  double *row = new_array (double, n);
  for (int i = 0; i < n; i++)
    {
      memset (row, 0, n * sizeof *row);
      for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
          row[j] += a[i * n + k] * b[k * n + j];
      for (int j = 0; j < n; j++)
        if (c[i * n + j] != row[j]) /* whole numbers: nothing is rounded */
          return wrong ("c[%d][%d] is %g, not %g", i, j, c[i * n + j], row[j]);
    }
  printf ("matrix: the product of two %d x %d matrices is right\n", n, n);
  free (a), free (b), free (c), free (row);
}
