/* check: race sum */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 4096, seen;
  int *sum = malloc(n * sizeof *sum);
  for (int i = 0; i < n; i++) sum[i] = 0;
#pragma omp target map(tofrom: sum[0:n]) nowait
  for (int i = 0; i < n; i++) sum[i] += i;
  seen = sum[7];
#pragma omp taskwait
  printf("%d %d\n", seen >= 0, sum[8]);
  free(sum);
  return 0;
}
