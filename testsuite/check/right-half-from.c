/* check: right */
#include <stdio.h>

int main(void)
{
  int a[100];
#pragma omp target map(from: a)
  for (int i = 0; i < 50; i++) a[i] = i;
  printf("%d\n", a[49]);
  return 0;
}
