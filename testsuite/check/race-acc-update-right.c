/* check: right */
#include <openacc.h>
#include <stdio.h>

int main(void)
{
  static int a[4096], b[4096];
#pragma acc data create(a) copyout(b)
  {
    for (int i = 0; i < 4096; i++) a[i] = i;
#pragma acc update device(a) async(1)
#pragma acc parallel loop async(2) wait(1) present(a, b)
    for (int i = 0; i < 4096; i++) b[i] = a[i];
#pragma acc update self(b) async(2)
#pragma acc wait(2)
    a[10] = b[9];
#pragma acc update device(a) async(1)
    while (!acc_async_test(1))
      ;
    a[11] = 7;
  }
  printf("%d\n", b[9]);
  return 0;
}
