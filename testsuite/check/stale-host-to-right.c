/* check: right */
#include <stdio.h>

int main(void)
{
  int a[200], sum = 0;
  for (int i = 0; i < 200; i++) a[i] = i;
#pragma omp target map(tofrom: a)
  for (int i = 0; i < 200; i++) a[i] *= 2;
  for (int i = 0; i < 200; i++) sum += a[i];
  printf("%d\n", sum);
  return 0;
}
