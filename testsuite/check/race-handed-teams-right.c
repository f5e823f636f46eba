/* check: right */
#include <stdio.h>

/* What a team fills in one critical section, another one takes over there, and changes in one of another name.  */
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
    item[mine] *= 2;
#pragma omp critical(work)
    sum += item[mine];
  }
  printf("%d\n", sum > 0);
  return 0;
}
