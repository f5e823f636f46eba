/* A Fourier transform: a region for each doubling, from one array into the other.  */
#include "fft.h"

static void
transform (complex_number *numbers, const complex_number *roots, int n)
{
  complex_number *other = new_array (complex_number, n);
  int doublings = 0;
#pragma omp target data map(numbers[:n]) map(other[:n]) map(to : roots[:n / 2])
  {
    kernels_begin ();
    for (int span = 1; span < n; span *= 2, doublings++)
      {
        const complex_number *from = doublings % 2 ? other : numbers;
        complex_number *to = doublings % 2 ? numbers : other;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n / 2; i++)
          butterfly (from, to, roots, n, span, i);
      }
    kernels_end ();
  }
  if (doublings % 2)
    memcpy (numbers, other, n * sizeof *numbers);
  free (other);
}
