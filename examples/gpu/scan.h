/* Prefix sums: the host's part.  */
#include "common.h"

static void scan (const int *in, int *out, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 40000), *in = new_array (int, n), *out = new_array (int, n);
  for (int i = 0; i < n; i++)
    in[i] = i % 7 - 2;
  do
    scan (in, out, n);
  while (again ());
  for (int i = 0, want = 0; i < n; i++)
    if (out[i] != (want += in[i]))
      return wrong ("%d at %d, not %d", out[i], i, want);
  printf ("scan: %d prefix sums are right\n", n);
  free (in), free (out);
}
