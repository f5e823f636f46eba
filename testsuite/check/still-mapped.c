/* check: still-mapped a */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int *a = calloc(64, sizeof *a);
#pragma omp target enter data map(to: a[0:64])
#pragma omp target
  a[0] = 1;

  puts("done");
  return 0;
}
