#include <stdio.h>
int main (void)
{
  int a[100], sum = 0;
#pragma acc parallel copyout(a)
  for (int i = 0; i < 50; i++)
    a[i] = i;
  for (int i = 0; i < 100; i++)
    sum += a[i];
  printf ("%d\n", sum);
}
