/* What a tool of OMPT is shown: each target construct once.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N 4096

int
main (void)
{
  static double a[N], b[N];
  double *memory;
  int device = 0;
  setvbuf (stdout, NULL, _IOLBF, 0);
#pragma omp target map(tofrom: a) map(from: device)
  { a[0] = 1; device = !omp_is_initial_device (); }
#pragma omp target data map(to: a) map(alloc: b)
  {
#pragma omp target teams num_teams(3)
    b[1] = a[0];
#pragma omp target update from(b)
  }
#pragma omp target enter data map(to: a)
#pragma omp target exit data map(delete: a)
  memory = omp_target_alloc (64, 0);
  omp_target_memcpy (memory, a, 64, 0, 0, 0, omp_get_initial_device ());
  omp_target_free (memory, 0);
  printf ("%g, on %s\n", b[1], device ? "the device" : "the host");
  return 0;
}
