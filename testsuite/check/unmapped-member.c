/* check: unmapped v.data */
#include <stdio.h>
#include <stdlib.h>

struct vector { int n; double *data; };

int main(void)
{
  struct vector v = { 50, malloc(50 * sizeof(double)) };
  double sum = 0;
  for (int i = 0; i < v.n; i++) v.data[i] = 1;
#pragma omp target map(to: v) map(tofrom: sum)
  for (int i = 0; i < v.n; i++) sum += v.data[i];
  printf("%g\n", sum);
  free(v.data);
  return 0;
}
