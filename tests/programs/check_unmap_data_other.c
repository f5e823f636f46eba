#include <openacc.h>
int a[100];
int main (void)
{
  acc_copyin (a, sizeof a);
  acc_unmap_data (a);
#pragma acc parallel present(a)
  a[0] = 1;
}
