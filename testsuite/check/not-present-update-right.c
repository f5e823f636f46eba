/* check: right */
#include <stdio.h>

int main(void)
{
  int a[64] = { 0 };
#pragma omp target data map(tofrom: a)
  {
#pragma omp target update to(a)
#pragma omp target
    a[0]++;
  }
  printf("%d\n", a[0]);
  return 0;
}
