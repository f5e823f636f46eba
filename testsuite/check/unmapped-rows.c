/* check: unmapped m[0] */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  double **m = malloc(8 * sizeof *m);
  for (int i = 0; i < 8; i++) m[i] = calloc(8, sizeof **m);
#pragma omp target map(tofrom: m[0:8])
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 8; j++) m[i][j] = i + j;
  printf("%g\n", m[1][1]);
  for (int i = 0; i < 8; i++) free(m[i]);
  free(m);
  return 0;
}
