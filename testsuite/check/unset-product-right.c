/* check: right */
#include <stdio.h>
#include <stdlib.h>

enum { N = 128 };

int main(void)
{
  double *a = malloc(N * sizeof *a), *b = malloc(N * N * sizeof *b), *c = malloc(N * sizeof *c);
  for (int i = 0; i < N; i++) a[i] = 1, c[i] = 0;
  for (int i = 0; i < N * N; i++) b[i] = 1;
#pragma omp target data map(to: a[0:N]) map(tofrom: c[0:N]) map(to: b[0:N * N])
#pragma omp target teams distribute parallel for
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) c[i] += b[j + i * N] * a[j];
  printf("%d\n", c[3] > -1);
  free(a);
  free(b);
  free(c);
  return 0;
}
