/* Threads whose regions follow each other closely: each gets its own data back.  */
#include <stdio.h>

int
main (void)
{
  int wrong = 0;
#pragma omp parallel num_threads(8) reduction(+: wrong)
  for (int i = 0; i < 1500; i++)
    {
      int x[32], y = i + 100000 * (int) (long) &x;
      for (int k = 0; k < 32; k++)
	x[k] = k;
#pragma omp target map(tofrom: x)
      for (int k = 0; k < 32; k++)
	x[k] += y;
      for (int k = 0; k < 32; k++)
	wrong += x[k] != k + y;
    }
  printf ("%d wrong\n", wrong);
  return wrong != 0;
}
