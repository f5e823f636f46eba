/* Sorting by four bits at a time: the host's part.  */
#include "common.h"

enum { bits = 4, digits = 1 << bits };

static void sort (unsigned *keys, int n);

static int
compare (const void *a, const void *b)
{
  unsigned one = *(const unsigned *) a, other = *(const unsigned *) b;
  return (one > other) - (one < other);
}

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 20000);
  unsigned *start = new_array (unsigned, n), *keys = new_array (unsigned, n);
  for (int i = 0; i < n; i++)
    start[i] = scrambled (i);
  do
    {
      memcpy (keys, start, n * sizeof *keys);
      sort (keys, n);
    }
  while (again ());
  qsort (start, n, sizeof *start, compare);
  for (int i = 0; i < n; i++)
    if (keys[i] != start[i])
      return wrong ("%u at %d, not %u", keys[i], i, start[i]);
  printf ("radix sort: %d keys are in order\n", n);
  free (start), free (keys);
}
