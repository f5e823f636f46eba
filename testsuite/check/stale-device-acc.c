/* check: stale-device x */
#include <stdio.h>

int main(void)
{
  int x[32], sum = 0;
  for (int i = 0; i < 32; i++) x[i] = 0;
#pragma acc enter data copyin(x)
  for (int i = 0; i < 32; i++) x[i] = i;
#pragma acc parallel present(x) copy(sum)
  for (int i = 0; i < 32; i++) sum += x[i];
#pragma acc exit data delete(x)
  printf("%d\n", sum);
  return 0;
}
