/* check: right */
#include <stdio.h>

int main(void)
{
  double a[100] = { 0 };
#pragma omp target enter data map(to: a[0:100])
#pragma omp target map(tofrom: a[50:30])
  for (int i = 50; i < 80; i++) a[i] = 1;
#pragma omp target exit data map(from: a[0:100])
  printf("%g\n", a[55]);
  return 0;
}
