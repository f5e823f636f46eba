/* check: race count */
#include <stdio.h>

int main(void)
{
  int a[256], queue[256] = {0}, count = 0;
  for (int i = 0; i < 256; i++) a[i] = i;
#pragma omp target teams distribute parallel for num_teams(4) map(to: a) map(tofrom: queue, count)
  for (int i = 0; i < 256; i++)
    if (a[i] % 3 == 0)
    {
      int at;
      at = count++;
      queue[at] = a[i];
    }
  printf("%d\n", count > 0);
  return 0;
}
