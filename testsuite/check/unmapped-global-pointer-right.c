/* check: right */
#include <stdio.h>
#include <stdlib.h>

int *table;

int main(void)
{
  int sum = 0;
  table = malloc(20 * sizeof *table);
  for (int i = 0; i < 20; i++) table[i] = i;
#pragma omp target map(tofrom: sum) map(to: table[0:20])
  for (int i = 0; i < 20; i++) sum += table[i];
  printf("%d\n", sum);
  free(table);
  return 0;
}
