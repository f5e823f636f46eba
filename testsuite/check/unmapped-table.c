/* check: unmapped o.in[1].q */
#include <stdio.h>
#include <stdlib.h>

struct part { int n, *q; };
struct whole { struct part in[2]; int n; };

int main(void)
{
  struct whole o = { .n = 25 };
  int sum = 0;
  for (int i = 0; i < 2; i++) o.in[i].q = calloc(25, sizeof(int));
#pragma omp target map(to: o) map(tofrom: sum)
  for (int i = 0; i < o.n; i++) sum += o.in[1].q[i];
  printf("%d\n", sum);
  free(o.in[0].q);
  free(o.in[1].q);
  return 0;
}
