/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  double *found = malloc(3000 * sizeof *found), sum = 0;
  for (int i = 0; i < 3000; i++) found[i] = 0;
#pragma omp target enter data map(to: found[:3000])
#pragma omp target map(alloc: found[:3000])
  for (int i = 0; i < 3000; i += 3) found[i] = i;
#pragma omp target update from(found[:3000])
  for (int i = 0; i < 3000; i++) sum += found[i];
#pragma omp target exit data map(delete: found[:3000])
  printf("%g\n", sum);
  free(found);
  return 0;
}
