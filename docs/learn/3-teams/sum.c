#include <stdio.h>
double x[1000];
int main (void)
{
  double sum = 0;
  for (int i = 0; i < 1000; i++)
    x[i] = i;
  #pragma omp target teams distribute parallel for reduction(+: sum) map(to: x) map(tofrom: sum)
  for (int i = 0; i < 1000; i++)
    sum += x[i];
  printf ("%g\n", sum);
}
