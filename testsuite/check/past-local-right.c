/* check: right */
#include <stdio.h>

int main(void)
{
  double grid[8][16], sum = 0;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 16; j++) grid[i][j] = 1;
#pragma omp target map(to: grid) map(tofrom: sum)
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 16; j++) sum += grid[i][j];
  printf("%d\n", sum >= 128);
  return 0;
}
