#include "heat.h"

#include <omp.h>
#include <stdlib.h>

void
heat_steps (double *u, int n, int steps)
{
  double *next = malloc (n * sizeof (double));
#pragma omp target data map(tofrom: u[:n]) map(alloc: next[:n])
  for (int step = 0; step < steps; step++)
    {
#pragma omp target teams distribute parallel for map(tofrom: u[:n]) map(alloc: next[:n])
      for (int i = 1; i < n - 1; i++)
	next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
#pragma omp target teams distribute parallel for map(tofrom: u[:n]) map(alloc: next[:n])
      for (int i = 1; i < n - 1; i++)
	u[i] = next[i];
    }
  free (next);
}

int
heat_on_device (void)
{
  int host = 1;
#pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  return !host;
}
