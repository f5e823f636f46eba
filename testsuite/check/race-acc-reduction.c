/* check: race b */
#include <stdio.h>

int main(void)
{
  int a[1024], b[1024] = {0}, sum = 0;
  for (int i = 0; i < 1024; i++) a[i] = i % 7;
#pragma acc parallel num_gangs(4) num_workers(4) vector_length(32) copyin(a) copy(b) copy(sum)
  {
#pragma acc loop gang worker vector reduction(+: sum)
    for (int i = 0; i < 1024; i++)
    {
      b[i] = a[i] * 2 + (i > 31 ? b[i - 32] : 0);
      sum += a[i];
    }
  }
  printf("%d\n", sum + b[5]);
  return 0;
}
