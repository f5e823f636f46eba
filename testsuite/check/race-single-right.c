/* check: right */
#include <stdio.h>

int main(void)
{
  int a[64], limit = 0;
  for (int i = 0; i < 64; i++) a[i] = i;
#pragma omp target map(tofrom: a, limit)
#pragma omp parallel num_threads(4)
  {
#pragma omp single
    limit = 32;
#pragma omp for
    for (int i = 0; i < 64; i++)
      if (a[i] > limit) a[i] = limit;
  }
  printf("%d\n", a[0]);
  return 0;
}
