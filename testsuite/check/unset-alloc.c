/* check: unset a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 100;
  double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
  for (int i = 0; i < n; i++) a[i] = i;
#pragma omp target map(alloc: a[0:n]) map(from: b[0:n])
  for (int i = 0; i < n; i++) b[i] = 2 * a[i];
  printf("%d\n", b[5] == 10);
  free(a);
  free(b);
  return 0;
}
