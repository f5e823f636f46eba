/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = malloc(100 * sizeof *a), *first = NULL;
  for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target data map(tofrom: a[:100])
  {
#pragma omp target data use_device_ptr(a)
    first = a;
#pragma omp target
    for (int i = 0; i < 100; i++) a[i] *= 2;
#pragma omp target update from(a[:100])
    printf("%d %d\n", a[1], first != a);
  }
  free(a);
  return 0;
}
