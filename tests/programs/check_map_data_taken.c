#include <openacc.h>
int a[100], b[100];
int main (void)
{
  void *d = acc_malloc (sizeof a);
  acc_map_data (a, d, sizeof a);
  acc_map_data (b, d, sizeof b);
#pragma acc parallel present(a)
  a[0] = 1;
}
