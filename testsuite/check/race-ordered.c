/* check: race last */
#include <stdio.h>

int main(void)
{
  int a[64], last = 0;
  for (int i = 0; i < 64; i++) a[i] = i;
#pragma omp target parallel for num_threads(4) schedule(static, 1) map(to: a) map(tofrom: last)
  for (int i = 0; i < 64; i++)
  {
    int twice = 2 * a[i];
    last = last / 2 + twice;
  }
  printf("%d\n", last);
  return 0;
}
