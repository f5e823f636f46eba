/* check: right */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 64, host = omp_get_initial_device(), device = omp_get_default_device();
  int *a = calloc(n, sizeof *a), *d = omp_target_alloc(n * sizeof *d, device);
#pragma omp target is_device_ptr(d)
  for (int i = 0; i < 64; i++)
    d[i] = i;
  omp_target_memcpy(a, d, n * sizeof *a, 0, 0, host, device);
  omp_target_free(d, device);
  puts("done");
  free(a);
  return 0;
}
