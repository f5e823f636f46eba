/* check: past-section b */
#include <stdio.h>
#include <stdlib.h>

enum { N = 128 };
static double *a, *b, *c;

static void multiply(void)
{
#pragma omp target map(to: a[0:N], b[0:N]) map(tofrom: c[0:N])
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) c[i] += b[j + i * N] * a[j];
}

int main(void)
{
  a = calloc(N, sizeof *a);
  b = calloc(N * N, sizeof *b);
  c = calloc(N, sizeof *c);
  multiply();
  printf("%g\n", c[3]);
  free(a);
  free(b);
  free(c);
  return 0;
}
