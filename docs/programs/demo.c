#include <stdio.h>
int main (void)
{
  int a[1000], sum = 0;
  #pragma omp target enter data map(alloc: a)
  #pragma omp target teams distribute parallel for
  for (int i = 0; i < 1000; i++)
    a[i] = i;
  #pragma omp target teams distribute parallel for reduction(+: sum) map(tofrom: sum)
  for (int i = 0; i < 1000; i += 2)
    sum += a[i] + a[i] % 2;
  #pragma omp target exit data map(delete: a)
  printf ("%d\n", sum);
}
