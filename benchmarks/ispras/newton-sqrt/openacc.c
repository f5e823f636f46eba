#include "bench.h"
#include "newton-sqrt/steps.h"

#define LOOP                                                                                                            \
  for (long i = 0; i < n; i++)                                                                                          \
    {                                                                                                                   \
      double v = a[i], x = 0.5 * (v + 1);                                                                               \
      for (int k = 0; k < STEPS; k++)                                                                                   \
        x = 0.5 * (x + v / x);                                                                                          \
      r[i] = x;                                                                                                         \
    }

int
bench_region (const struct problem *p, const struct launch *l)
{
  const double *a = p->a;
  double *r = p->r;
  long n = p->n;
  int teams = l->teams, threads = l->threads;
  if (l->simd && teams && threads)
    {
#pragma acc parallel loop gang worker vector num_gangs(teams) num_workers(threads) vector_length(32)                    \
    present(a[0 : n], r[0 : n])
      LOOP
    }
  else if (l->simd)
    {
#pragma acc parallel loop gang worker vector present(a[0 : n], r[0 : n])
      LOOP
    }
  else if (teams && threads)
    {
#pragma acc parallel loop gang worker num_gangs(teams) num_workers(threads) vector_length(32)                           \
    present(a[0 : n], r[0 : n])
      LOOP
    }
  else
    {
#pragma acc parallel loop gang worker present(a[0 : n], r[0 : n])
      LOOP
    }
  return 0;
}
