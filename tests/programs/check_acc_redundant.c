#include <stdlib.h>
int main (void)
{
  double a[1000] = { 1 }, sum = 0;
  for (int i = 0; i < 10; i++)
    {
#pragma acc parallel copyin(a) copy(sum)
      sum += a[i];
    }
  return sum != 1;
}
