/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 64, *a = calloc(n, sizeof *a);
#pragma omp target enter data map(to: a[0:n])
#pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
#pragma omp target update from(a[0:n])
  puts("done");
#pragma omp target exit data map(from: a[0:n])
  printf("%d\n", a[63]);
  free(a);
  return 0;
}
