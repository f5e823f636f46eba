#include <stdio.h>
int main (void)
{
  int a[4] = {1, 2, 3, 4}, sum = 0;
  #pragma omp target map(to: a)
  for (int i = 0; i < 4; i++)
    a[i] *= 10;
  #pragma omp target map(to: a) map(tofrom: sum)
  for (int i = 0; i < 4; i++)
    sum += a[i];
  printf ("%d, sum %d\n", a[0], sum);
}
