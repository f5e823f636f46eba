/* A mapping has ended with its block, or with its region.  */
#include <stdio.h>

int main(void)
{
  int a[64] = { 0 }, b[16] = { 0 };
#pragma omp target data map(to: a)
  {
#pragma omp target
    a[0] = 1;
  }
#pragma omp target update from(a)
#pragma omp target exit data map(release: a)
#pragma omp target map(to: b)
  b[0] = 1;
#pragma omp target update from(b)
#pragma omp target exit data map(release: b)
  printf("done\n");
  return 0;
}
