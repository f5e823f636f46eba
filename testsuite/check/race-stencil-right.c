/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 1000;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = b[i] = i;
#pragma omp target teams distribute parallel for map(tofrom: a[0:n], b[0:n])
  for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i + 1]) / 2;
  printf("%d\n", a[0] == 0);
  free(a);
  free(b);
  return 0;
}
