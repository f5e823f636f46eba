/* check: extension a */
#include <stdio.h>

int main(void)
{
  double a[100] = { 0 };
#pragma omp target enter data map(to: a[20:40])
#pragma omp target map(tofrom: a[50:30])
  for (int i = 50; i < 80; i++) a[i] = 1;
#pragma omp target exit data map(from: a[20:40])
  printf("%g\n", a[55]);
  return 0;
}
