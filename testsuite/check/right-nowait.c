/* check: right */
#include <stdio.h>

int main(void)
{
  static int a[1000], b[1000];
#pragma omp parallel
#pragma omp single
  {
#pragma omp target map(tofrom: a) nowait
    for (int i = 0; i < 1000; i++) a[i] = i;
#pragma omp target map(tofrom: b) nowait
    for (int i = 0; i < 1000; i++) b[i] = 1;
#pragma omp taskwait
  }
  printf("%d\n", a[999] + b[0]);
  return 0;
}
