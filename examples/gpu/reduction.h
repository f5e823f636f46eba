/* The sum of an array: the host's part.  */
#include "common.h"

static unsigned long long sum (const int *a, int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 1 << 18), *a = new_array (int, n);
  unsigned long long want = 0, got;
  for (int i = 0; i < n; i++)
    want += a[i] = i % 1000;
  do
    got = sum (a, n);
  while (again ());
  if (got != want)
    return wrong ("the sum is %llu, not %llu", got, want);
  printf ("reduction: the sum of %d numbers is %llu\n", n, got);
  free (a);
}
