#include <stdio.h>
double x[1000];
int main (void)
{
  for (int step = 0; step < 3; step++)
    {
      #pragma omp target map(tofrom: x)
      for (int i = 0; i < 1000; i++)
        x[i] += 1;
    }
  printf ("%g\n", x[999]);
}
