/* check: not-present p */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int *p = omp_target_alloc(400, 0), sum = 0;
#pragma omp target map(tofrom: sum) is_device_ptr(p)
  {
    p[7] = 3;
    sum = p[7];
  }
  printf("%d\n", sum);
  omp_target_free(p, 0);
  omp_target_free(p, 0);
  return 0;
}
