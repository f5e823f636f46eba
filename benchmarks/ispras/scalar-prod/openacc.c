#include "bench.h"

#define LOOP                                                                                                            \
  for (long i = 0; i < n; i++)                                                                                          \
    sum += a[i] * b[i];

int
bench_region (const struct problem *p, const struct launch *l)
{
  const double *a = p->a, *b = p->b;
  double *r = p->r;
  long n = p->n;
  int teams = l->teams, threads = l->threads;
  double sum = 0;
  if (l->simd && teams && threads)
    {
#pragma acc parallel loop gang worker vector num_gangs(teams) num_workers(threads) vector_length(32)                    \
    present(a[0 : n], b[0 : n]) copy(sum) reduction(+ : sum)
      LOOP
    }
  else if (l->simd)
    {
#pragma acc parallel loop gang worker vector present(a[0 : n], b[0 : n]) copy(sum) reduction(+ : sum)
      LOOP
    }
  else if (teams && threads)
    {
#pragma acc parallel loop gang worker num_gangs(teams) num_workers(threads) vector_length(32)                           \
    present(a[0 : n], b[0 : n]) copy(sum) reduction(+ : sum)
      LOOP
    }
  else
    {
#pragma acc parallel loop gang worker present(a[0 : n], b[0 : n]) copy(sum) reduction(+ : sum)
      LOOP
    }
  r[0] = sum;
  return 1;
}
