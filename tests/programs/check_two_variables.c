#include <stdio.h>
#pragma omp declare target
int scale = 1, count;
#pragma omp end declare target
int main (void)
{
  scale = 5; count = 7;
#pragma omp target
  count += scale;
#pragma omp target
  count += scale;
  printf ("%d\n", scale);
}
