#include <openacc.h>
int main (void)
{
  static int a[10];
  void *memory = acc_malloc (sizeof a);
  acc_map_data (a, memory, sizeof a);
  acc_free (memory);
}
