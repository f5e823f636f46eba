/* check: stale-device limit */
#include <stdio.h>
#pragma omp declare target
int limit = 3;
#pragma omp end declare target

int main(void)
{
  int got = 0;
  limit = 9;
#pragma omp target map(from: got)
  got = limit;
  printf("%d\n", got);
  return 0;
}
