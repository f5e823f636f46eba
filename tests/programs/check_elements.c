#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct p { double x, y, *w; };
int main (void)
{
  struct p *q = calloc (10, sizeof *q);
  for (int i = 0; i < 10; i++) q[i].w = calloc (4, sizeof (double));
#pragma omp target enter data map(to: q[0:10])
  for (int i = 0; i < 10; i++)
    {
#pragma omp target enter data map(to: q[i].w[0:4])
    }
#pragma omp target
  for (int i = 0; i < 10; i++) { q[i].w[0] = i; q[i].x = i; }
#pragma omp target update from(q[0:10])
  printf ("%g %g\n", q[3].x, q[3].w[0]);
#pragma omp target exit data map(release: q[0:10])
}
