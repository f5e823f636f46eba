/* A system of linear equations by elimination with pivots: the host's part, which also solves the triangle.  */
#include "common.h"

/* a: n rows of n + 1 numbers, the last one the right side.  */
static void eliminate (double *a, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 60), width = n + 1;
  double *start = new_array (double, n * width), *a = new_array (double, n * width), *x = new_array (double, n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      {
        start[i * width + j] = fraction (i * n + j) - 0.5;
        start[i * width + n] += start[i * width + j] * (j % 7 - 3); /* so x[j] is j % 7 - 3 */
      }
  do
    {
      memcpy (a, start, n * width * sizeof *a);
      eliminate (a, n);
    }
  while (again ());
  for (int i = n - 1; i >= 0; i--)
    {
      x[i] = a[i * width + n];
      for (int j = i + 1; j < n; j++)
        x[i] -= a[i * width + j] * x[j];
      x[i] /= a[i * width + i];
      if (differ (x[i], i % 7 - 3, 1e-6))
        return wrong ("x[%d] is %g, not %d", i, x[i], i % 7 - 3);
    }
  printf ("gauss: the solution of %d equations is right\n", n);
  free (start), free (a), free (x);
}
