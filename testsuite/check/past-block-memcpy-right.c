/* check: right */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 64, host = omp_get_initial_device(), device = omp_get_default_device();
  int *a = calloc(n + 2, sizeof *a), *d = omp_target_alloc(n * sizeof *d, device);
  omp_target_memcpy(d, a, (n - 2) * sizeof *a, 2 * sizeof *a, 0, device, host);
  puts("done");
  omp_target_free(d, device);
  free(a);
  return 0;
}
