#include <stdio.h>

int main(void)
{
  static double a[1000];
  double sum = 0;
#pragma omp target data map(to: a)
  for (int k = 0; k < 10; k++)
    {
#pragma omp target map(tofrom: sum)
      for (int i = 0; i < 1000; i++) sum += a[i];
#pragma omp target update from(a)
    }
  printf("%g\n", sum);
  return 0;
}
