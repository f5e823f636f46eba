#include "bench.h"

#define LOOP                                                                                                            \
  for (long i = 0; i < n; i++)                                                                                         \
    r[i] = a[i] + b[i];

int
bench_region (const struct problem *p, const struct launch *l)
{
  const double *a = p->a, *b = p->b;
  double *r = p->r;
  long n = p->n;
  int teams = l->teams, threads = l->threads;
  if (l->simd && teams && threads)
    {
#pragma acc parallel loop gang worker vector num_gangs(teams) num_workers(threads) vector_length(32)                    \
    present(a[0 : n], b[0 : n], r[0 : n])
      LOOP
    }
  else if (l->simd)
    {
#pragma acc parallel loop gang worker vector present(a[0 : n], b[0 : n], r[0 : n])
      LOOP
    }
  else if (teams && threads)
    {
#pragma acc parallel loop gang worker num_gangs(teams) num_workers(threads) vector_length(32)                           \
    present(a[0 : n], b[0 : n], r[0 : n])
      LOOP
    }
  else
    {
#pragma acc parallel loop gang worker present(a[0 : n], b[0 : n], r[0 : n])
      LOOP
    }
  return 0;
}
