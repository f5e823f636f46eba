/* A Fourier transform of 2^k complex numbers: the host's part.  */
#include "common.h"

#ifdef __CUDACC__
typedef float2 complex_number;
#else
typedef struct
{
  float x, y;
} complex_number;
#endif

/* One butterfly: the i-th of n / 2, between transforms of `span` numbers.  roots: half of exp (-2 pi i k / n).  */
#pragma omp declare target
DEVICE static inline void
butterfly (const complex_number *from, complex_number *to, const complex_number *roots, int n, int span, int i)
{
  int k = i & (span - 1), at = 2 * i - k;
  complex_number one = from[i], other = from[i + n / 2], root = roots[k * (n / 2 / span)], turned, sum, difference;
  turned.x = other.x * root.x - other.y * root.y;
  turned.y = other.x * root.y + other.y * root.x;
  sum.x = one.x + turned.x, sum.y = one.y + turned.y;
  difference.x = one.x - turned.x, difference.y = one.y - turned.y;
  to[at] = sum;
  to[at + span] = difference;
}
#pragma omp end declare target

static void transform (complex_number *numbers, const complex_number *roots, int n);

/* The plain way: of every other number, and of the others; then both together.  */
static void
transform_halves (const double *from, double *to, int n, int stride)
{
  if (n == 1)
    {
      to[0] = from[0], to[1] = from[1];
      return;
    }
  transform_halves (from, to, n / 2, 2 * stride);
  transform_halves (from + 2 * stride, to + n, n / 2, 2 * stride);
  for (int k = 0; k < n / 2; k++)
    {
      double angle = -2 * acos (-1.0) * k / n, c = cos (angle), s = sin (angle), *one = to + 2 * k, *other = one + n;
      double x = other[0] * c - other[1] * s, y = other[0] * s + other[1] * c;
      other[0] = one[0] - x, other[1] = one[1] - y;
      one[0] += x, one[1] += y;
    }
}

int
main (int argc, char **argv)
{
  int wanted = size_argument (argc, argv, 4096), n = 2;
  while (n < wanted)
    n *= 2;
  complex_number *start = new_array (complex_number, n), *numbers = new_array (complex_number, n);
  complex_number *roots = new_array (complex_number, n / 2);
  double *from = new_array (double, 2 * n), *want = new_array (double, 2 * n);
  for (int i = 0; i < n; i++)
    {
      start[i].x = fraction (2 * i) - 0.5f, start[i].y = fraction (2 * i + 1) - 0.5f;
      from[2 * i] = start[i].x, from[2 * i + 1] = start[i].y;
      if (i < n / 2)
        roots[i].x = (float) cos (2 * acos (-1.0) * i / n), roots[i].y = (float) -sin (2 * acos (-1.0) * i / n);
    }
  do
    {
      memcpy (numbers, start, n * sizeof *numbers);
      transform (numbers, roots, n);
    }
  while (again ());
  transform_halves (from, want, n, 1);
  for (int i = 0; i < n; i++)
    if (differ (numbers[i].x, want[2 * i], 1e-5 * sqrt (n)) || differ (numbers[i].y, want[2 * i + 1], 1e-5 * sqrt (n)))
      return wrong ("%g + %g i at %d, not %g + %g i", numbers[i].x, numbers[i].y, i, want[2 * i], want[2 * i + 1]);
  printf ("fft: the transform of %d numbers is right\n", n);
  free (start), free (numbers), free (roots), free (from), free (want);
}
