/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(64, sizeof *a);
#pragma omp target enter data map(to: a[0:64])
#pragma omp target
  a[0] = 1;
#pragma omp target exit data map(from: a[0:64])

  printf("%d\n", a[0]);
  free(a);
  return 0;
}
