/* A sparse matrix by a vector: the host's part.  */
#include "common.h"

/* The entries of row i: columns[starts[i]] with values[starts[i]] and so on, before starts[i + 1].  */
static void multiply (const int *starts, const int *columns, const double *values, const double *x, double *y, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 2000), *starts = new_array (int, n + 1);
  for (int i = 0; i < n; i++)
    starts[i + 1] = starts[i] + scrambled (i) % 40;
  int count = starts[n], *columns = new_array (int, count + 1);
  double *values = new_array (double, count + 1), *x = new_array (double, n), *y = new_array (double, n);
  for (int k = 0; k < count; k++)
    columns[k] = scrambled (n + k) % n, values[k] = k % 19 - 9;
  for (int i = 0; i < n; i++)
    x[i] = i % 23 - 11;
  do
    multiply (starts, columns, values, x, y, n);
  while (again ());
  for (int i = 0; i < n; i++)
    {
      double want = 0;
      for (int k = starts[i]; k < starts[i + 1]; k++)
        want += values[k] * x[columns[k]];
      if (y[i] != want) /* whole numbers: nothing is rounded */
        return wrong ("y[%d] is %g, not %g", i, y[i], want);
    }
  printf ("sparse: %d rows of %d entries by a vector are right\n", n, count);
  free (starts), free (columns), free (values), free (x), free (y);
}
