#include <stdio.h>
int main (void)
{
  int a[7] = {1, 2, 3, 4, 5, 6, 7}, s = 0;
  #pragma omp target map(to: a) map(tofrom: s)
  for (int i = 0; i <= 7; i++)
    s += a[i];
  printf ("%d\n", s);
}
