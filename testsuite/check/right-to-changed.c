/* check: right */
#include <stdio.h>

int main(void)
{
  int a[64], sum = 0;
  for (int i = 0; i < 64; i++) a[i] = i;
#pragma omp target map(to: a) map(tofrom: sum)
  for (int i = 0; i < 64; i++)
    {
      a[i] *= 2;  /* the host does not look at it again */
      sum += a[i];
    }
  for (int i = 0; i < 64; i++) a[i] = 0;
  printf("%d\n", sum + a[3]);
  return 0;
}
