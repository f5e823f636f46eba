#include <stdio.h>
int a[100];
int main (void)
{
  double s = 0;
#pragma acc data copy (a)
  {
#pragma acc parallel loop async (3)
    for (int i = 0; i < 100; i++)
      a[i] = i;
#pragma acc parallel loop async (3) reduction(+: s) copy(s)
    for (int i = 0; i < 100; i++)
      s += a[i];
#pragma acc wait
  }
  printf ("%d %g\n", a[7], s);
  return a[7] != 7;
}
