/* check: still-mapped x */
#include <stdio.h>

static float x[16];

int main(void)
{
#pragma acc enter data copyin(x)
#pragma acc parallel present(x)
  x[0] = 1;

  puts("done");
  return 0;
}
