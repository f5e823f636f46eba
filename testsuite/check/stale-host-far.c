/* check: stale-host a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 2000000;
  double sum = 0;
  float *a = calloc(n, sizeof *a);
#pragma omp target data map(tofrom: a[0:n])
  {
    for (int k = 0; k < 100; k++)
#pragma omp target
      for (int i = 0; i < n; i++) a[i] += 1;

    sum = a[n / 2];
  }
  printf("%g\n", sum);
  free(a);
  return 0;
}
