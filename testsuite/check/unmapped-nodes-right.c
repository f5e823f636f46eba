/* check: right */
#include <stdio.h>
#include <stdlib.h>

struct part { int n, *q; };

int main(void)
{
  int sum = 0;
  struct part *list = calloc(5, sizeof *list);
  for (int i = 0; i < 5; i++) list[i].q = calloc(25, sizeof(int));
  int *q = list[3].q;
#pragma omp target map(to: list[0:5], q[0:25]) map(tofrom: sum)
  for (int i = 0; i < 25; i++) sum += q[i];
  printf("%d\n", sum);
  for (int i = 0; i < 5; i++) free(list[i].q);
  free(list);
  return 0;
}
