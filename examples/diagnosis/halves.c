/* A region to look into with a debugger: what it has of the host's variables, and what it changes.  */

#include <stdio.h>

#pragma omp declare target
int rounds = 10;
#pragma omp end declare target

int
main (void)
{
  int n = 4;
  double data[4] = { 8, 16, 24, 32 };
  double sum = 0;
#pragma omp target map(tofrom: data, sum)
  {
    double local = 0;
    for (int i = 0; i < n; i++)
      {
	data[i] = data[i] / 2;
	local += data[i];
      }
    rounds++;
    sum = local;
  }
  printf ("sum %g, rounds %d\n", sum, rounds);
  return 0;
}
