/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 1000;
  int *a = malloc(n * sizeof *a);
#pragma omp target enter data map(alloc: a[0:n])
#pragma omp target map(a[0:n])
  for (int i = 0; i < n; i++) a[i] = i;
#pragma omp target exit data map(from: a[0:n])
  printf("%d\n", a[n - 1]);
  free(a);
  return 0;
}
