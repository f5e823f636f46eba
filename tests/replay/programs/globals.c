#include <stdio.h>
#include <stdlib.h>

#pragma omp begin declare target
int calls, scale = 3;
#pragma omp end declare target

static void
multiply (double *x, int n, char tag, float by, long bias, short less, int more, int again)
{
#pragma omp target teams distribute parallel for map(tofrom: x[:n])
  for (int i = 0; i < n; i++)
    x[i] = x[i] * scale * by + bias - less + more - again + tag;
#pragma omp target
  calls++;
}

int
main (void)
{
  double *x = calloc (100, sizeof (double));
  for (int i = 0; i < 100; i++)
    x[i] = i;
  multiply (x, 100, 1, 2, 3, 4, 5, 6);
  multiply (x, 50, 1, 0.1f, 3, 4, 5, 6);
#pragma omp target update from(calls)
  printf ("%d %g %g\n", calls, x[49], x[99]);
}
