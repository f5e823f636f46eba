/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(100, sizeof *a);
#pragma omp target data map(tofrom: a[0:100])
  {
#pragma omp target map(tofrom: a[0:100])
    for (int i = 0; i < 100; i++) a[i] = i;
  }
  printf("%d\n", a[1]);
  free(a);
  return 0;
}
