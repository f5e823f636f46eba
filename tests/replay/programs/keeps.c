/* Regions whose results depend on what the device's C library has kept: a block of its malloc, its random numbers.  */
#include <stdio.h>
#include <stdlib.h>

int
main (void)
{
  int *p = 0, sum = 0, number = 0;
#pragma omp target map(tofrom: p)
  {
    p = malloc (40);
    for (int i = 0; i < 10; i++)
      p[i] = i;
  }
#pragma omp target map(tofrom: sum, p)
  for (int i = 0; i < 10; i++)
    sum += p[i];
  for (int i = 0; i < 2; i++)
    {
#pragma omp target map(tofrom: number)
      number = rand () + 1;
    }
  printf ("%d\n", sum);
}
