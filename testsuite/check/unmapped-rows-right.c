/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  double **m = malloc(8 * sizeof *m);
  for (int i = 0; i < 8; i++) m[i] = calloc(8, sizeof **m);
  double *row = m[1];
#pragma omp target map(tofrom: row[0:8])
  for (int j = 0; j < 8; j++) row[j] = 1 + j;
  printf("%g\n", m[1][1]);
  for (int i = 0; i < 8; i++) free(m[i]);
  free(m);
  return 0;
}
