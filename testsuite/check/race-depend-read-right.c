/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 4096, seen = 0;
  int *sum = malloc(n * sizeof *sum);
#pragma omp parallel num_threads(1)
#pragma omp single
  {
#pragma omp task depend(out: sum[0]) shared(n, sum)
    for (int i = 0; i < n; i++) sum[i] = 0;
#pragma omp target map(tofrom: sum[0:n]) nowait depend(inout: sum[0])
    for (int i = 0; i < n; i++) sum[i] += i;
#pragma omp task depend(in: sum[0]) shared(seen, sum)
    seen = sum[7];
#pragma omp taskwait
  }
  printf("%d %d\n", seen, sum[8]);
  free(sum);
  return 0;
}
