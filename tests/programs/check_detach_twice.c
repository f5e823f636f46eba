#include <openacc.h>

struct vector { int n; int *data; };

int main(void)
{
  int numbers[8] = {1};
  struct vector v = {8, numbers};
#pragma acc enter data copyin(v)
#pragma acc enter data copyin(v.data[0:8])
  acc_detach((void **) &v.data);
  acc_detach((void **) &v.data);
  return 0;
}
