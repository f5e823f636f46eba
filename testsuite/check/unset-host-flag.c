/* check: unset-host found */
#include <stdio.h>

int main(void)
{
  int a[64], found;
  for (int i = 0; i < 64; i++) a[i] = i;
#pragma acc parallel copyin(a) copyout(found)
  for (int i = 0; i < 64; i++)
    if (a[i] == 100) found = i;
  printf("%s\n", found == 100 ? "yes" : "no");
  return 0;
}
