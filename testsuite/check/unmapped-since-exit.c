/* check: unmapped-since a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 64, sum = 0;
  int *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma omp target enter data map(to: a[0:n])
#pragma omp target exit data map(release: a[0:n])
#pragma omp target map(tofrom: sum)
  for (int i = 0; i < n; i++) sum += a[i];
  printf("%d\n", sum);
  free(a);
  return 0;
}
