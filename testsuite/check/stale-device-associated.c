/* check: stale-device a */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int sum = 0, *a = calloc(100, sizeof *a);
  int *device = omp_target_alloc(100 * sizeof *a, 0);
  omp_target_associate_ptr(a, device, 100 * sizeof *a, 0, 0);
#pragma omp target update to(a[0:100])
  a[7] = 3;
#pragma omp target map(alloc: a[0:100]) map(tofrom: sum)
  for (int i = 0; i < 100; i++) sum += a[i];
  omp_target_disassociate_ptr(a, 0);
  omp_target_free(device, 0);
  printf("%d\n", sum);
  free(a);
  return 0;
}
