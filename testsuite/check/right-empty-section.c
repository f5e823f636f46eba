/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 0, sum = 0;
  int *a = malloc(16);
#pragma omp target map(tofrom: a[0:n], sum)
  for (int i = 0; i < n; i++) sum += a[i];
  printf("%d\n", sum);
  free(a);
  return 0;
}
