/* check: race count */
#include <stdio.h>

/* Each increment is atomic, the question before it is not.  */
int main(void)
{
  int count = 0;
#pragma omp target teams distribute parallel for map(tofrom: count) num_teams(2) num_threads(4)
  for (int i = 0; i < 4000; i++)
    if (count < 1000)
    {
#pragma omp atomic
      count++;
    }
  printf("%d\n", count >= 1000);
  return 0;
}
