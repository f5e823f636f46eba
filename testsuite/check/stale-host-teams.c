/* check: stale-host c */
#include <stdio.h>
#include <stdlib.h>

enum { N = 4000 };

int main(void)
{
  int *a = malloc(N * sizeof *a), *c = malloc(N * sizeof *c), sum = 0;
  for (int i = 0; i < N; i++) a[i] = i, c[i] = 0;
#pragma omp target teams distribute parallel for map(to: a[0:N]) map(to: c[0:N])
  for (int i = 0; i < N; i++) c[i] = 2 * a[i] + 1;
  for (int i = 0; i < N; i++) sum += c[i];
  printf("%d\n", sum >= 0);
  free(a);
  free(c);
  return 0;
}
