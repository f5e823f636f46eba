/* check: stale-host a */
#include <stdio.h>

int main(void)
{
  int a[400], sum = 0;
  for (int i = 0; i < 400; i++) a[i] = 1;
#pragma omp target data map(tofrom: a)
  {
#pragma omp target
    for (int i = 0; i < 400; i++) a[i] += i;
#pragma omp parallel for num_threads(3) reduction(+: sum)
    for (int i = 0; i < 400; i++) sum += a[i];
  }
  printf("%d\n", sum > 0);
  return 0;
}
