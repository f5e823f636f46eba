#include <openacc.h>
#include <stdio.h>
#pragma acc routine nohost
static int answer (void)
{
  return 42;
}
int main (void)
{
  int x = 0;
#pragma acc parallel copyout (x)
  if (acc_on_device (acc_device_not_host))
    x = answer ();
  printf ("%d\n", x);
}
