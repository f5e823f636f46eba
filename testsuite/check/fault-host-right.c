/* check: right */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int host[64] = { 0 };
  int *d = omp_target_alloc(sizeof host, omp_get_default_device());
#pragma omp target is_device_ptr(d)
  for (int i = 0; i < 64; i++) d[i] = i;
  omp_target_memcpy(host, d, sizeof host, 0, 0, omp_get_initial_device(), omp_get_default_device());
  printf("%d\n", host[3]);
  omp_target_free(d, omp_get_default_device());
  return 0;
}
