/* Sorting by four bits at a time: each part of the keys is counted, and put in place, by one thread.  */
#include "radix_sort.h"

enum { parts = 64 };

static void
sort (unsigned *keys, int n)
{
  unsigned *other = new_array (unsigned, n);
  int next[parts][digits], length = (n + parts - 1) / parts;
#pragma omp target data map(keys[:n]) map(alloc : other[:n], next)
  {
    kernels_begin ();
    for (int shift = 0; shift < 32; shift += bits)
      {
        unsigned *from = shift / bits % 2 ? other : keys, *to = shift / bits % 2 ? keys : other;
#pragma omp target teams distribute parallel for
        for (int part = 0; part < parts; part++)
          {
            for (int digit = 0; digit < digits; digit++)
              next[part][digit] = 0;
            for (int i = part * length; i < (part + 1) * length && i < n; i++)
              next[part][from[i] >> shift & (digits - 1)]++;
          }
#pragma omp target
        for (int digit = 0, sum = 0; digit < digits; digit++)
          for (int part = 0; part < parts; part++)
            {
              int own = next[part][digit];
              next[part][digit] = sum;
              sum += own;
            }
#pragma omp target teams distribute parallel for
        for (int part = 0; part < parts; part++)
          for (int i = part * length; i < (part + 1) * length && i < n; i++)
            to[next[part][from[i] >> shift & (digits - 1)]++] = from[i];
      }
    kernels_end ();
  }
  free (other);
}
