/* check: still-mapped work */
#include <stdio.h>

static int square(int n)
{
  int work[32];
  for (int i = 0; i < 32; i++) work[i] = n;
#pragma omp target enter data map(to: work)
#pragma omp target
  for (int i = 0; i < 32; i++) work[i] *= work[i];
#pragma omp target update from(work)

  return work[5];
}

int main(void)
{
  printf("%d\n", square(3));
  return 0;
}
