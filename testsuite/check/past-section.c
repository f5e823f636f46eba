/* check: past-section a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 512;
  int *a = malloc(n * sizeof *a);
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma omp target map(tofrom: a[0:n / 2])
  for (int i = 0; i < n; i++) a[i]++;
  printf("%d\n", a[0]);
  free(a);
  return 0;
}
