/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 3000, sum = 0;
  int *scratch = malloc(n * sizeof *scratch);
#pragma omp target map(alloc: scratch[0:n]) map(tofrom: sum)
  {
    for (int i = 0; i < n; i++) scratch[i] = i & 1;
    for (int i = 0; i < n; i++) sum += scratch[i];
  }
  printf("%d\n", sum);
  free(scratch);
  return 0;
}
