/* check: not-present b */
#include <stdio.h>

static int a[64], b[64];

int main(void)
{
#pragma omp target enter data map(to: a)
#pragma omp target
  a[0] = 1;
#pragma omp target exit data map(release: a, b)
  puts("done");
  return 0;
}
