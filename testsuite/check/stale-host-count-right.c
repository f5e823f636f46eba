/* check: right */
#include <stdio.h>

static int a[500];

int main(void)
{
  int sum = 0;
#pragma omp target enter data map(to: a)
#pragma omp target map(always, from: a)
  for (int i = 0; i < 500; i++) a[i] = 1;
  for (int i = 0; i < 500; i++) sum += a[i];
  printf("%d\n", sum);
#pragma omp target exit data map(delete: a)
  return 0;
}
