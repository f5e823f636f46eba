/* check: right */
#include <openacc.h>
#include <stdio.h>

int main(void)
{
  double sum = 0, *work = acc_malloc(256 * sizeof *work);
#pragma acc parallel loop deviceptr(work)
  for (int i = 0; i < 256; i++) work[i] = 1;
#pragma acc parallel loop deviceptr(work) reduction(+: sum)
  for (int i = 0; i < 256; i++) sum += work[i];
  printf("%g\n", sum);
  acc_free(work);
  return 0;
}
