#include <openacc.h>
#include <stdio.h>
float x[1000], y[1000];
int main (void)
{
  #pragma acc data copyout(x, y)
  {
    #pragma acc parallel loop async(1)
    for (int i = 0; i < 1000; i++)
      x[i] = 1;
    #pragma acc parallel loop async(2)
    for (int i = 0; i < 1000; i++)
      y[i] = 2;
    #pragma acc parallel loop wait(1, 2)
    for (int i = 0; i < 1000; i++)
      y[i] += x[i];
  }
  printf ("%g %g\n", y[0], y[999]);
}
