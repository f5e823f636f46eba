#include <openacc.h>
int a[100];
int main (void)
{
  acc_map_data (a, acc_malloc (sizeof a), sizeof a);
  acc_unmap_data (a + 10);
#pragma acc parallel present(a)
  a[0] = 1;
}
