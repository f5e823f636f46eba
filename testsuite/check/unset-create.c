/* check: unset x */
#include <stdio.h>

int main(void)
{
  float x[64], y[64];
  for (int i = 0; i < 64; i++) x[i] = y[i] = 1;
#pragma acc data create(x) copy(y)
  {
#pragma acc parallel loop
    for (int i = 0; i < 64; i++) y[i] += x[i];
  }
  printf("%d\n", y[3] == 2);
  return 0;
}
