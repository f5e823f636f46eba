#include <openacc.h>

struct vector { int n; int *data; };

int main(void)
{
  int numbers[8] = {1};
  struct vector v = {8, numbers};
#pragma acc enter data copyin(v)
  acc_attach((void **) &v.data);
  return 0;
}
