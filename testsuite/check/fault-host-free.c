/* check: fault d */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int device = omp_get_default_device();
  int *d = omp_target_alloc(64 * sizeof *d, device);
#pragma omp target is_device_ptr(d)
  d[0] = 1;
  free(d);
  puts("done");
  return 0;
}
