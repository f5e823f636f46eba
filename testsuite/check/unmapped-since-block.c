/* check: unmapped-since d */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int host[64] = { 0 };
  int *d = omp_target_alloc(sizeof host, omp_get_default_device());
#pragma omp target is_device_ptr(d)
  for (int i = 0; i < 64; i++) d[i] = i;
  omp_target_free(d, omp_get_default_device());
#pragma omp target is_device_ptr(d) map(tofrom: host)
  for (int i = 0; i < 64; i++) host[i] = d[i];
  printf("%d\n", host[9]);

  return 0;
}
