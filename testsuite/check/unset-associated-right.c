/* check: right */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int sum = 0, *a = calloc(100, sizeof *a);
  void *device = acc_malloc(100 * sizeof *a);
  acc_map_data(a, device, 100 * sizeof *a);
#pragma acc update device(a[0:100])
#pragma acc parallel loop copyin(a[0:100]) reduction(+: sum)
  for (int i = 0; i < 100; i++) sum += a[i];
  acc_unmap_data(a);
  acc_free(device);
  printf("%d\n", sum);
  free(a);
  return 0;
}
