#include <stdio.h>
int main (void)
{
  int a[4] = {1, 2, 3, 4};
  #pragma omp target map(to: a)
  for (int i = 0; i < 4; i++)
    a[i] *= 10;
  printf ("%d\n", a[0]);
}
