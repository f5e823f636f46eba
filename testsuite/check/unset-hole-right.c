/* check: right */
#include <stdio.h>

int main(void)
{
  int a[100], sum = 0;
#pragma omp target data map(alloc: a)
  {
#pragma omp target
    for (int i = 0; i < 100; i++)
      if (i != 100) a[i] = i;
#pragma omp target map(tofrom: sum)
    for (int i = 0; i < 100; i++) sum += a[i];
  }
  printf("%d\n", sum > 0);
  return 0;
}
