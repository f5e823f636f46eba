/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 1000, sum = 0;
  long *c = malloc(2 * n * sizeof *c);
  for (int i = 0; i < 2 * n; i++) c[i] = i % 2 ? 33 : 0;
#pragma omp target map(to: c[10:n]) map(tofrom: sum)
  for (int i = 10; i < n; i++) sum += c[i];
  printf("%d\n", sum);
  free(c);
  return 0;
}
