/* check: past-block d */
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(64, sizeof *a), *d = acc_malloc(64 * sizeof *a);
#pragma acc parallel deviceptr(d)
  d[0] = 1;
  acc_memcpy_from_device(a, d + 1, 64 * sizeof *a);
  puts("done");
  acc_free(d);
  free(a);
  return 0;
}
