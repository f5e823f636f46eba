/* check: past-block c */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 1000, sum = 0;
  int *c = malloc(n * sizeof *c);
  for (int i = 0; i < n; i++) c[i] = i;
#pragma omp target map(to: c[0:2*n]) map(tofrom: sum)
  for (int i = 0; i < n; i++) sum += c[i];
  printf("%d\n", sum);
  free(c);
  return 0;
}
