/* check: right */
#include <stdio.h>

static int a[5000];

int main(void)
{
#pragma omp target data map(tofrom: a)
  {
    for (int i = 0; i < 5000; i++) a[i] = 1;
#pragma omp target
    for (int i = 0; i < 5000; i++) a[i] = 2;  /* the host's 1 is not read */
  }
  printf("%d\n", a[4999]);
  return 0;
}
