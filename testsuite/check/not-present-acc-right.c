/* check: right */
#include <stdio.h>

int main(void)
{
  int x[8] = { 0 };
#pragma acc enter data copyin(x)
#pragma acc parallel present(x)
  x[0] = 4;
#pragma acc exit data copyout(x)

  printf("%d\n", x[0]);
  return 0;
}
