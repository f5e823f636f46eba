/* check: stale-device factor */
#include <stdio.h>

int main(void)
{
  int factor = 1, result = 0;
#pragma omp target enter data map(to: factor)
  factor = 7;
#pragma omp target map(tofrom: result) map(to: factor)
  result = factor;
#pragma omp target exit data map(delete: factor)
  printf("%d\n", result);
  return 0;
}
