/* check: race a */
#include <stdio.h>

int main(void)
{
  static int a[4096], b[4096];
#pragma acc data create(a) copyout(b)
  {
    for (int i = 0; i < 4096; i++) a[i] = i;
#pragma acc update device(a) async(1)
#pragma acc parallel loop async(1) present(a, b)
    for (int i = 0; i < 4096; i++) b[i] = a[i];
    a[10] = 5;
#pragma acc wait(1)
  }
  printf("%d\n", b[9]);
  return 0;
}
