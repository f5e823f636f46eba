/* One of each construct, and a region that the program keeps on the host.  */
#include <stdio.h>
#include <openacc.h>
int main (void)
{
  int a[16] = {0}, n = 3;
  #pragma acc data copy(a)
  {
  #pragma acc parallel copyin(n)
  a[n] = 1;
  #pragma acc update self(a) 
  }
  acc_copyin (a, 64);
  #pragma acc parallel copy(a)
  a[n] = 1;
  acc_copyout (a, 64);
  #pragma acc parallel copy(a) if (0)
  a[n] = 1;
  return 0;
}
