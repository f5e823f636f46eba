#include <stdio.h>
int main (void)
{
  float x[1000];
  int n = 1000;
  for (int i = 0; i < n; i++)
    x[i] = i;
#pragma omp target teams distribute parallel for map(tofrom: x)
  for (int i = 0; i < n; i++)
    x[i] = 2 * x[i] + 1;
#pragma omp target map(tofrom: x)
  x[0] = -1;
  printf ("%g %g %g\n", x[0], x[1], x[999]);
}
