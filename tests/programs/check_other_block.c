#include <stdio.h>
#include <stdlib.h>
static void step (float *restrict a, const float *restrict b, int n)
{
#pragma omp target teams distribute parallel for map(from: a[1:n-2]) map(to: b[0:n])
  for (int i = 1; i < n; i++)
    a[i] = b[i - 1] + b[i + 1];
}
int main (void)
{
  int n = 4096; float *a = malloc (n * 4), *b = malloc (n * 4);
  for (int i = 0; i < n; i++) a[i] = b[i] = i;
  step (a, b, n);
  printf ("%g\n", a[10]);
}
