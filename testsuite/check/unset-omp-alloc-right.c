/* check: right */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int device = omp_get_default_device();
  int sum = 0;
  int *p = omp_target_alloc(100 * sizeof(int), device);
#pragma omp target is_device_ptr(p)
  for (int i = 0; i < 100; i++) p[i] = i;
#pragma omp target is_device_ptr(p) map(tofrom: sum)
  for (int i = 0; i < 100; i++) sum += p[i];
  printf("%d\n", sum == 4950);
  omp_target_free(p, device);
  return 0;
}
