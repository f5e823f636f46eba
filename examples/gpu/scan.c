/* Prefix sums: the sum of each part, then of all parts before it, then within the part.  */
#include "scan.h"

enum { parts = 64 };

static void
scan (const int *in, int *out, int n)
{
  int before[parts], length = (n + parts - 1) / parts;
#pragma omp target data map(to : in[:n]) map(from : out[:n]) map(alloc : before)
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for
    for (int part = 0; part < parts; part++)
      {
        int sum = 0;
        for (int i = part * length; i < (part + 1) * length && i < n; i++)
          sum += in[i];
        before[part] = sum;
      }
#pragma omp target
    for (int part = 0, sum = 0; part < parts; part++)
      {
        int own = before[part];
        before[part] = sum;
        sum += own;
      }
#pragma omp target teams distribute parallel for
    for (int part = 0; part < parts; part++)
      {
        int sum = before[part];
        for (int i = part * length; i < (part + 1) * length && i < n; i++)
          out[i] = sum += in[i];
      }
    kernels_end ();
  }
}
