#include <stdio.h>
int main (void)
{
  int a[100] = {0}, *p = a, n = 100;
  #pragma omp target
  for (int i = 0; i < n; i++)
    p[i]++;
  printf ("%d\n", a[99]);
}
