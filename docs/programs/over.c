#include <stdio.h>
#include <stdlib.h>
int main (void)
{
  int n = 1000;
  double *a = malloc (n * sizeof *a);
  #pragma omp target teams distribute parallel for simd num_teams(2) map(from: a[:n])
  for (int i = 0; i <= n; i++) a[i] = i;
  printf ("%g\n", a[n - 1]);
}
