/* check: race sum */
#include <stdio.h>

int main(void)
{
  int sum = 0;
#pragma omp target teams distribute parallel for map(tofrom: sum)
  for (int i = 0; i < 20000; i++) sum += i % 3;
  printf("%d\n", sum > 0);
  return 0;
}
