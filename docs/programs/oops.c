#include <stdio.h>
#include <stdlib.h>
struct list { int n; double *x; };
int main (void)
{
  struct list l = {3, calloc (3, sizeof (double))};
  double sum = 0;
  #pragma omp target map(to: l) map(tofrom: sum)
  for (int i = 0; i < l.n; i++)
    sum += l.x[i];
  printf ("%g\n", sum);
}
