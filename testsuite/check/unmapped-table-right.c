/* check: right */
#include <stdio.h>
#include <stdlib.h>

struct part { int n, *q; };
struct whole { struct part in[2]; int n; };

int main(void)
{
  struct whole o = { .n = 25 };
  int sum = 0;
  for (int i = 0; i < 2; i++) o.in[i].q = calloc(25, sizeof(int));
  int *q = o.in[1].q;
#pragma omp target map(to: o, q[0:25]) map(tofrom: sum)
  for (int i = 0; i < o.n; i++) sum += q[i];
  printf("%d\n", sum);
  free(o.in[0].q);
  free(o.in[1].q);
  return 0;
}
