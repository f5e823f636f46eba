/* check: stale-host b */
#include <stdio.h>

int main(void)
{
  float a[300], b[300], sum = 0;
  for (int i = 0; i < 300; i++) a[i] = i, b[i] = 0;
#pragma acc data copyin(a, b)
  {
#pragma acc parallel loop
    for (int i = 0; i < 300; i++) b[i] = a[i] * 2;
  }
  for (int i = 0; i < 300; i++) sum += b[i];
  printf("%d\n", sum >= 0);
  return 0;
}
