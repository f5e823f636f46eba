/* check: right */
#include <stdio.h>
#pragma omp declare target
int rounds = 0;
#pragma omp end declare target

int main(void)
{
#pragma omp target
  rounds = 12;
#pragma omp target update from(rounds)
  printf("%d\n", rounds);
  return 0;
}
