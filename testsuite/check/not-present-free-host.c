/* check: not-present x */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int x = 1, *p = omp_target_alloc(sizeof x, 0);
  printf("%d\n", omp_target_memcpy(p, &x, sizeof x, 0, 0, 0, omp_get_initial_device()));
#pragma omp target is_device_ptr(p)
  *p = 2;
  omp_target_free(&x, 0);
  return 0;
}
