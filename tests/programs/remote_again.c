/* A device that is shut down and started again.  */
#include <openacc.h>
#include <stdio.h>

int
main (void)
{
  int x = 1;
  for (int i = 0; i < 3; i++)
    {
      acc_init (acc_device_default);
#pragma acc parallel copy(x)
      x *= 2;
#pragma acc parallel copy(x) async
      x++;
#pragma acc wait
      acc_shutdown (acc_device_default);
    }
  printf ("%d\n", x);
  return 0;
}
