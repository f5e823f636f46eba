#include <stdio.h>
double a[1000];
int main (void)
{
  #pragma omp target teams distribute parallel for map(from: a)
  for (int i = 0; i < 1000; i++) a[i] += i;
  printf ("%g\n", a[999]);
}
