/* A bitonic sorting network: the host's part, and what one comparison does.  */
#include "common.h"

enum { pairs_of_block = 256, smallest = 2 * pairs_of_block };

static void sort (unsigned *keys, int n);

/* The i-th pair of a step: two keys this far apart, which go up or down with the run that they are in.  */
#pragma omp declare target
DEVICE static inline void
order_pair (unsigned *keys, int i, int distance, int down)
{
  int low = 2 * i - (i & (distance - 1));
  unsigned one = keys[low], other = keys[low + distance];
  if (down ? one < other : one > other)
    keys[low] = other, keys[low + distance] = one;
}
#pragma omp end declare target

static int
compare (const void *a, const void *b)
{
  unsigned one = *(const unsigned *) a, other = *(const unsigned *) b;
  return (one > other) - (one < other);
}

int
main (int argc, char **argv)
{
  int wanted = size_argument (argc, argv, 4096), n = smallest;
  while (n < wanted)
    n *= 2; /* the network sorts powers of two */
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
  printf ("bitonic sort: %d keys are in order\n", n);
  free (start), free (keys);
}
