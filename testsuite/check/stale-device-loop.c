/* check: stale-device x */
#include <stdio.h>
#include <stdlib.h>

enum { N = 1024, STEPS = 5 };

int main(void)
{
  double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  for (int i = 0; i < N; i++) x[i] = i, y[i] = 0;
#pragma omp target data map(to: x[0:N]) map(tofrom: y[0:N])
  for (int step = 0; step < STEPS; step++)
  {
    x[0] = step + 0.5;
    x[N - 1] = -step - 0.5;

#pragma omp target teams distribute parallel for
    for (int i = 1; i < N - 1; i++) y[i] += x[i - 1] + x[i + 1];
  }
  printf("%d\n", y[1] != 0);
  free(x);
  free(y);
  return 0;
}
