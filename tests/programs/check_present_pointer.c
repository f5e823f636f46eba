#include <stdio.h>
#include <stdlib.h>
int main (void)
{
  int n = 100; float *x = malloc (n * sizeof *x), *y = malloc (n * sizeof *y);
  for (int i = 0; i < n; i++) x[i] = i, y[i] = 0;
#pragma acc data copyin(x[0:n]) create(y[0:n])
  {
#pragma acc parallel loop present(x, y)
    for (int i = 0; i < n; i++)
      y[i] = y[i] + 2 * x[i];
#pragma acc update self(y[0:n])
  }
  printf ("%g\n", y[n - 1]);
}
