/* check: extension a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(100, sizeof *a);
#pragma omp target enter data map(to: a[0:50])
#pragma omp target
  for (int i = 0; i < 50; i++) a[i] += i;
#pragma omp target exit data map(from: a[0:100])
  printf("%d\n", a[1]);
  free(a);
  return 0;
}
