/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 64;
  int *c = malloc(n * sizeof *c);
  for (int i = 0; i < n; i++) c[i] = i;
#pragma acc data copyin(c[0:n])
  {
#pragma acc parallel loop
    for (int i = 0; i < n; i++) c[i]++;
#pragma acc update self(c[0:n])
  }
  printf("%d\n", c[1]);
  free(c);
  return 0;
}
