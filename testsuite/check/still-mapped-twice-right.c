/* check: right */
#include <stdio.h>

static int a[100];

int main(void)
{
#pragma omp target enter data map(to: a)
#pragma omp target enter data map(to: a)
#pragma omp target
  a[0] = 1;
#pragma omp target exit data map(from: a)
#pragma omp target exit data map(from: a)
  puts("done");
  return 0;
}
