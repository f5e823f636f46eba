/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 100;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = b[i] = i;
#pragma omp target map(tofrom: a[0:n]) map(to: b[0:n])
  for (int i = 0; i < n; i++) a[i] += b[i];
  printf("%g\n", a[n - 1]);
  free(a);
  free(b);
  return 0;
}
