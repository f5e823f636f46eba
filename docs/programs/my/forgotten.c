/* { dg-do run } */
#include <stdlib.h>

int main (void)
{
  int *a = malloc (10 * sizeof *a);
#pragma omp target
  a[7] = 1;
}
