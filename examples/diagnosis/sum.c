#include <stdio.h>

int
main (void)
{
  int a[100], sum = 0;
  for (int i = 0; i < 100; i++)
    a[i] = i;
  #pragma omp target map(to: a)
  for (int i = 0; i < 100; i++)
    sum += a[i];
  printf ("%d\n", sum);
}
