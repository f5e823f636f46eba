/* 16 MiB to the device and back, twice, at places that are no page's begin.  */
#include <stdio.h>
#include <stdlib.h>

#define N (4 << 20)

int
main (void)
{
  unsigned *a = malloc (N * sizeof *a), wrong = 0;
  for (int i = 0; i < N; i++)
    a[i] = i * 2654435761u;
#pragma omp target data map(to: a[0:N])
  for (int round = 1; round <= 2; round++)
    {
#pragma omp target
      for (int i = 0; i < N; i++)
	a[i] += i + round;
#pragma omp target update from(a[0:3], a[3:N - 8], a[N - 5:5])
      for (int i = 0; i < N; i++)
	wrong += a[i] != i * 2654435761u + round * i + round * (round + 1) / 2;
#pragma omp target update to(a[0:1], a[1:N - 2], a[N - 1:1])
    }
  printf ("%u wrong\n", wrong);
  return 0;
}
