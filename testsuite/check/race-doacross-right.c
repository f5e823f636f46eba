/* check: right */
#include <stdio.h>

int main(void)
{
  int a[65] = {1}, n = 65;
#pragma omp target parallel for ordered(1) num_threads(4) schedule(static, 1) map(tofrom: a)
  for (int i = 1; i < n; i++)
  {
#pragma omp ordered depend(sink: i - 1)
    a[i] = a[i - 1] + i;
#pragma omp ordered depend(source)
  }
  printf("%d\n", a[64]);
  return 0;
}
