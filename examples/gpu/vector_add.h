/* c = a + b: the host's part.  */
#include "common.h"

static void add (const float *a, const float *b, float *c, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 100003);
  float *a = new_array (float, n), *b = new_array (float, n), *c = new_array (float, n);
  for (int i = 0; i < n; i++)
    a[i] = (float) i, b[i] = 2.0f * i;
  do
    add (a, b, c, n);
  while (again ());
  for (int i = 0; i < n; i++)
    if (c[i] != a[i] + b[i])
      return wrong ("c[%d] is %g, not %g", i, c[i], a[i] + b[i]);
  printf ("vector add: %d sums are right\n", n);
  free (a), free (b), free (c);
}
