/* check: right */
#include <stdio.h>

int scratch[1000], out[1000];

int main(void)
{
#pragma omp target nowait map(alloc: scratch) map(from: out)
  {
    for (int i = 0; i < 1000; i++) scratch[i] = i;
    for (int round = 0; round < 2000; round++)
      for (int i = 0; i < 1000; i++) out[i] = scratch[i] * 2;
  }
  for (int i = 0; i < 1000; i++) scratch[i] = 5;  /* it is copied neither way: each side has its own */
#pragma omp taskwait
  printf("%d %d\n", out[3], scratch[3]);
  return 0;
}
