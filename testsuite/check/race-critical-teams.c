/* check: race count */
#include <stdio.h>

int main(void)
{
  int count = 0;
#pragma omp target teams distribute map(tofrom: count) num_teams(4)
  for (int i = 0; i < 400; i++)
  {
#pragma omp critical(up)
    count += 3;
#pragma omp critical(down)
    count -= 2;
  }
  printf("%d\n", count > 0);
  return 0;
}
