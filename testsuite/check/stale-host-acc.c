/* check: stale-host x */
#include <stdio.h>

int main(void)
{
  int x[400], sum = 0;
  for (int i = 0; i < 400; i++) x[i] = 0;
#pragma acc data copyin(x)
  {
#pragma acc parallel loop
    for (int i = 0; i < 400; i++) x[i] = i;
  }
  for (int i = 0; i < 400; i++) sum += x[i];
  printf("%d\n", sum);
  return 0;
}
