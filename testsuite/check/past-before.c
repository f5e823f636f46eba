/* check: past-section a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(100, sizeof *a);
#pragma omp target map(tofrom: a[50:50])
  for (int i = 49; i < 100; i++) a[i] = i;
  printf("%d\n", a[99]);
  free(a);
  return 0;
}
