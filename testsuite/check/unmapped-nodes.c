/* check: unmapped list[3].q */
#include <stdio.h>
#include <stdlib.h>

struct part { int n, *q; };

int main(void)
{
  int sum = 0;
  struct part *list = calloc(5, sizeof *list);
  for (int i = 0; i < 5; i++) list[i].q = calloc(25, sizeof(int));
#pragma omp target map(to: list[0:5]) map(tofrom: sum)
  for (int i = 0; i < 25; i++) sum += list[3].q[i];
  printf("%d\n", sum);
  for (int i = 0; i < 5; i++) free(list[i].q);
  free(list);
  return 0;
}
