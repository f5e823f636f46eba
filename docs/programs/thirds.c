#include <stdio.h>

int
main (void)
{
  static float x[1000], y[1000];
  for (int i = 0; i < 1000; i++)
    x[i] = i;
#pragma omp target data map(to: x) map(from: y)
  {
#pragma omp target teams distribute parallel for
    for (int i = 0; i < 1000; i++)
      y[i] = x[i] / 3;
#pragma omp target teams distribute parallel for
    for (int i = 0; i < 1000; i++)
      y[i] = y[i] * 3.1f - x[i];
  }
  printf ("%g\n", y[3]);
}
