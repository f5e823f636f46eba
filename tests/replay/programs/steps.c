#include <stdio.h>
#pragma omp declare target
double factor = 2;
#pragma omp end declare target

static double
add_up (double *x, int wrong)
{
  double sum = 0;
  if (wrong)
    x = NULL;
#pragma omp target map(to: x[:wrong ? 0 : 3]) map(tofrom: sum)
  for (int i = 0; i < 3; i++)
    sum += *(volatile double *) &x[i];
  return sum;
}
int
main (int argc, char **argv)
{
  double x[3] = { 0, 1, 2 }, y = 6;
#pragma omp target map(tofrom: x)
  for (int i = 0; i < 3; i++)
    x[i] *= factor;
#pragma omp target map(tofrom: y)
  { factor++; y *= 2; }
  printf ("%g ", add_up (x, argc > 1));
  printf ("%g\n", y);
}
