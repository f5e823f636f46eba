/* check: stale-device a */
#include <stdio.h>

int main(void)
{
  int a[128], sum = 0;
  for (int i = 0; i < 128; i++) a[i] = 1;
#pragma omp target data map(to: a)
  {
    for (int i = 0; i < 128; i++) a[i] = 3;
#pragma omp target update to(a[0:64])
#pragma omp target map(tofrom: sum)
    for (int i = 0; i < 128; i++) sum += a[i];
  }
  printf("%d\n", sum);
  return 0;
}
