#include <stdio.h>
int main (void)
{
  int gangs = 0, sum = 0;
#pragma acc parallel num_gangs(8) reduction(+: gangs)
  gangs++;
#pragma acc parallel loop gang vector num_gangs(8) vector_length(32) reduction(+: sum)
  for (int i = 0; i < 1000; i++)
    sum += i;
  printf ("%d gangs, %d\n", gangs, sum);
}
