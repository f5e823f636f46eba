/* check: right */
#include <stdio.h>

int main(void)
{
  int a[4096];
  for (int i = 0; i < 4096; i++) a[i] = 0;
#pragma omp target map(tofrom: a) nowait
  for (int i = 0; i < 4096; i++) a[i]++;
#pragma omp taskwait
  a[0] = 5;
  printf("%d\n", a[1]);
  return 0;
}
