/* check: right */
#include <stdio.h>

int table[1000];

int main(void)
{
  int sum = 0;
  for (int i = 0; i < 1000; i++) table[i] = i;
#pragma omp target enter data map(to: table)
#pragma omp target map(tofrom: sum)
  for (int i = 0; i < 1000; i++) sum += table[i];
#pragma omp target exit data map(delete: table)
  printf("%d\n", sum == 499500);
  return 0;
}
