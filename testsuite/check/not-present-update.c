/* check: not-present a */
#include <stdio.h>

int main(void)
{
  int a[64] = { 0 };
#pragma omp target update to(a)
#pragma omp target map(tofrom: a)
  a[0]++;
  printf("%d\n", a[0]);
  return 0;
}
