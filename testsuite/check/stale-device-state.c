/* check: stale-device weights */
/* A table is made on the host, by a function that both sides have, and used on the device.  */
#include <stdio.h>
#pragma omp declare target
double weights[8];
static int calls;
double weigh(int i)
{
  calls++;
  return weights[i];
}
#pragma omp end declare target

int main(void)
{
  double sum = 0;
  for (int i = 0; i < 8; i++)
    weights[i] = i + 1;
  for (int i = 0; i < 8; i++)
    sum -= weigh(i);
#pragma omp target map(tofrom: sum)
  for (int i = 0; i < 8; i++)
    sum += weigh(i);
  printf("%g %d\n", sum, calls);
  return 0;
}
