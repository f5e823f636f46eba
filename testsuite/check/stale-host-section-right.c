/* check: right */
#include <stdio.h>
#include <stdlib.h>

enum { N = 600 };

int main(void)
{
  int *a = calloc(N, sizeof *a), sum = 0;
#pragma omp target enter data map(to: a[0:N])
#pragma omp target
  for (int i = 0; i < N; i++) a[i] += i;
#pragma omp target update from(a[0:N])
  for (int i = 0; i < N; i++) sum += a[i];
  printf("%d\n", sum > 0);
#pragma omp target exit data map(release: a[0:N])
  free(a);
  return 0;
}
