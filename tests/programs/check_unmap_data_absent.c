#include <openacc.h>
int a[100];
int main (void)
{
#pragma acc parallel copy(a)
  a[0] = 1;
  acc_unmap_data (a);
}
