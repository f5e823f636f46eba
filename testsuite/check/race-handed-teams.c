/* check: race item */
#include <stdio.h>

/* As race-handed-teams-right.c, but one place is changed by who has not taken it over.  */
int main(void)
{
  int item[64] = {0}, last = 0, sum = 0, full = 0;
#pragma omp target teams distribute map(tofrom: item, full, last, sum) num_teams(4)
  for (int i = 0; i < 64; i++)
  {
    int mine = -1;
#pragma omp critical(queue)
    {
      item[full++] = i;
      if (full > last + 1) mine = last++;
    }
    if (mine < 0) continue;
    item[0] += 2;
#pragma omp critical(work)
    sum += item[mine];
  }
  printf("%d\n", sum > 0);
  return 0;
}
