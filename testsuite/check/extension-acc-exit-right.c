/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(100, sizeof *a);
#pragma acc enter data copyin(a[0:50])
#pragma acc parallel loop present(a[0:50])
  for (int i = 0; i < 50; i++) a[i] += i;
#pragma acc exit data copyout(a[0:50])
  printf("%d\n", a[1]);
  free(a);
  return 0;
}
