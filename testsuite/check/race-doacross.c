/* check: race a */
#include <stdio.h>

int main(void)
{
  int a[65] = {1}, n = 65;
#pragma omp target parallel for num_threads(4) schedule(static, 1) map(tofrom: a)
  for (int i = 1; i < n; i++)
  {
    a[i] = a[i - 1] + i;
  }
  printf("%d\n", a[64]);
  return 0;
}
