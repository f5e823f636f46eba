/* check: not-present b */
#include <stdio.h>

int main(void)
{
  int a[32] = { 0 }, b[32] = { 0 };
#pragma acc data copy(a)
  {
#pragma acc parallel present(a, b)
    for (int i = 0; i < 32; i++) a[i] = b[i] + i;
  }
  printf("%d\n", a[3]);
  return 0;
}
