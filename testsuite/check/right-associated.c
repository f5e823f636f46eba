/* check: right */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int host = omp_get_initial_device(), *a = calloc(100, sizeof *a), *b = malloc(100 * sizeof *b);
  int *device = omp_target_alloc(100 * sizeof *a, 0);
  omp_target_associate_ptr(a, device, 100 * sizeof *a, 0, 0);
#pragma omp target map(alloc: a[0:100])
  for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target update from(a[0:100])
  omp_target_disassociate_ptr(a, 0);
#pragma omp target is_device_ptr(device)
  for (int i = 0; i < 100; i++) device[i] *= 2;
  omp_target_memcpy(b, device, 100 * sizeof *b, 0, 0, host, 0);
  printf("%d %d\n", a[3], b[3]);
  omp_target_free(device, 0);
  free(a);
  free(b);
  return 0;
}
