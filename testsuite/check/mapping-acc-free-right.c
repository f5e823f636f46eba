/* check: right */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(100, sizeof *a);
  void *device = acc_malloc(100 * sizeof *a);
  acc_map_data(a, device, 100 * sizeof *a);
#pragma acc update device(a[0:100])
#pragma acc parallel loop present(a[0:100])
  for (int i = 0; i < 100; i++) a[i] += i;
#pragma acc update self(a[0:100])
  printf("%d\n", a[1]);
  acc_unmap_data(a);
  acc_free(device);
  free(a);
  return 0;
}
