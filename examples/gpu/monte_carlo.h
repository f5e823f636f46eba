/* How many of n random points of a square lie in a circle: the host's part, and the generator.  */
#include "common.h"

/* The i-th point, whatever was asked before: Philox 2x32 with seven rounds (Salmon et al. 2011).  */
#pragma omp declare target
DEVICE static inline int
is_inside (unsigned i)
{
  unsigned x = i, y = 0, key = 20260101;
  for (int round = 0; round < 7; round++)
    {
      unsigned long long product = 0xd256d193ull * x;
      x = (unsigned) (product >> 32) ^ key ^ y;
      y = (unsigned) product;
      key += 0x9e3779b9u;
    }
  x >>= 16, y >>= 16;
  return (unsigned long long) x * x + (unsigned long long) y * y < 1ull << 32;
}
#pragma omp end declare target

static unsigned count_inside (int n);

int
main (int argc, char **argv)
{
  int n = size_argument (argc, argv, 200000);
  unsigned inside, want = 0;
  do
    inside = count_inside (n);
  while (again ());
  for (int i = 0; i < n; i++)
    want += is_inside (i);
  if (inside != want)
    return wrong ("%u points, not %u", inside, want);
  printf ("monte carlo: %u of %d points are in the circle, so pi is about %.3f\n", inside, n, 4.0 * inside / n);
}
