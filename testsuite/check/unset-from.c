/* check: unset sum */
#include <stdio.h>

int main(void)
{
  int sum = 0;
#pragma omp target map(from: sum)
  for (int i = 0; i < 10; i++) sum += i;
  printf("%d\n", sum == 45);
  return 0;
}
