/* Bodies that attract each other: a loop over bodies, which are moved from one array to the other.  */
#include "nbody.h"

static void
fly (body *bodies, vector *speeds, int n)
{
  body *other = new_array (body, n);
#pragma omp target data map(bodies[:n]) map(to : speeds[:n]) map(alloc : other[:n])
  {
    kernels_begin ();
    for (int step = 0; step < steps; step++)
      {
        const body *from = step % 2 ? other : bodies;
        body *to = step % 2 ? bodies : other;
#pragma omp target teams distribute parallel for
        for (int i = 0; i < n; i++)
          {
            body own = from[i];
            vector push = { 0, 0, 0 };
            for (int j = 0; j < n; j++)
              attract (&own, &from[j], &push);
            move (&own, &speeds[i], push);
            to[i] = own;
          }
      }
    kernels_end ();
  }
  free (other);
}
