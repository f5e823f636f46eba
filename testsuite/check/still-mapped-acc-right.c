/* check: right */
#include <stdio.h>

static float x[16];

int main(void)
{
#pragma acc enter data copyin(x)
#pragma acc parallel present(x)
  x[0] = 1;
#pragma acc exit data copyout(x)
  puts("done");
  return 0;
}
