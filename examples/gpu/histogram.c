/* How often each byte occurs: each thread has bins of its own, which the runtime adds up.  */
#include "histogram.h"

static unsigned char *
new_text (int n)
{
  return new_array (unsigned char, n);
}

static void
free_text (unsigned char *text)
{
  free (text);
}

static void
count (const unsigned char *text, int n, unsigned *bins)
{
  memset (bins, 0, kinds * sizeof *bins);
#pragma omp target data map(to : text[:n]) map(bins[:kinds])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for reduction(+ : bins[:kinds])
    for (int i = 0; i < n; i++)
      bins[text[i]]++;
    kernels_end ();
  }
}
