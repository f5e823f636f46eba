#include <stdio.h>
float x[1000];
int main (void)
{
  float sum = 0;
  #pragma acc data create(x)
  {
    #pragma acc parallel loop
    for (int i = 0; i < 1000; i++)
      x[i] = 0.5;
    #pragma acc parallel loop reduction(+: sum) copy(sum)
    for (int i = 0; i < 1000; i++)
      sum += x[i];
  }
  printf ("the sum %g came back, x[0] did not: %g\n", sum, x[0]);
}
