#include <stdio.h>
int table[10], sum;
int main (void)
{
  int *p = table, n = 3;
  #pragma omp target enter data map(to: table)
  #pragma omp target map(tofrom: sum)
  for (int i = 0; i < n; i++)
    sum += p[i]++;
  #pragma omp target update from(table)
  #pragma omp target exit data map(from: table)
  printf ("%d\n", sum);
}
