/* { dg-do run } */
/* { gompy-sets "-O0" "-O2 -Wall" } */
/* { dg-output {y\[99\] = 200\n} } */
#include <stdio.h>

int main (void)
{
  float x[100], y[100];
  for (int i = 0; i < 100; i++)
    x[i] = i, y[i] = 2;
#pragma omp target map(to: x) map(tofrom: y)
  for (int i = 0; i < 100; i++)
    y[i] += 2 * x[i];
  printf ("y[99] = %g\n", y[99]);
}
