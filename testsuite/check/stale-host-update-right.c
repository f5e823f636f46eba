/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 64, sum = 0;
  int *a = calloc(n, sizeof *a);
#pragma omp target data map(tofrom: a[0:n])
  {
#pragma omp target
    for (int i = 0; i < n; i++) a[i] = 1;
#pragma omp target update from(a[0:n])
    for (int i = 0; i < n; i++) sum += a[i];
  }
  printf("%d\n", sum);
  free(a);
  return 0;
}
