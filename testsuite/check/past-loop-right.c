/* check: right */
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };

int main(void)
{
  float *a = calloc(N, sizeof *a), *b = calloc(N, sizeof *b);
#pragma omp target teams distribute parallel for map(tofrom: a[0:N]) map(to: b[0:N])
  for (int i = 0; i < N - 1; i++) a[i] = b[i + 1];
  printf("%g\n", a[0]);
  free(a);
  free(b);
  return 0;
}
