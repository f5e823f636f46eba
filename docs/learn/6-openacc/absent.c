#include <stdio.h>
float x[1000];
int main (void)
{
  #pragma acc parallel loop present(x)
  for (int i = 0; i < 1000; i++)
    x[i] = i;
  printf ("%g\n", x[999]);
}
