/* check: right */
/* A table is made by whoever needs it first, on each side by itself, and each side counts its own calls.  */
#include <stdio.h>
#pragma omp declare target
static double weights[8];
static int made, calls;
double weigh(int i)
{
  if (!made)
    {
      for (int j = 0; j < 8; j++)
        weights[j] = j + 1;
      made = 1;
    }
  calls++;
  return weights[i];
}
#pragma omp end declare target
int (*say)(const char *) = puts;
#pragma omp declare target(say)

int main(void)
{
  double sum = 0;
  int there = 0;
  for (int i = 0; i < 8; i++)
    sum -= weigh(i);
#pragma omp target map(tofrom: sum, there)
  {
    for (int i = 0; i < 8; i++)
      sum += weigh(i);
    there = say != NULL;
  }
#pragma omp target map(tofrom: sum)
  sum += weigh(0);
  printf("%g %d %d\n", sum, calls, there);
  return 0;
}
