/* c = a + b: one loop, shared by all threads of all teams.  */
#include "vector_add.h"

static void
add (const float *a, const float *b, float *c, int n)
{
#pragma omp target data map(to : a[:n], b[:n]) map(from : c[:n])
  {
    kernels_begin ();
#pragma omp target teams distribute parallel for
    for (int i = 0; i < n; i++)
      c[i] = a[i] + b[i];
    kernels_end ();
  }
}
