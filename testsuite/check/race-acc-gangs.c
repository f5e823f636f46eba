/* check: race total */
#include <stdio.h>

int main(void)
{
  int a[256], total = 0;
  for (int i = 0; i < 256; i++) a[i] = i;
#pragma acc parallel loop gang num_gangs(8) copyin(a) copy(total)
  for (int i = 0; i < 256; i++)
  {
    total += a[i];
  }
  printf("%d\n", total > 0);
  return 0;
}
