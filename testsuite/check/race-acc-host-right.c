/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 4096;
  int *a = malloc(n * sizeof *a), *sum = malloc(n * sizeof *sum);
  for (int i = 0; i < n; i++) a[i] = i;
#pragma acc parallel loop copyin(a[0:n]) copyout(sum[0:n]) async
  for (int i = 0; i < n; i++) sum[i] = 2 * a[i];
  printf("%d\n", a[7]);
#pragma acc wait
  printf("%d\n", sum[7]);
  free(a);
  free(sum);
  return 0;
}
