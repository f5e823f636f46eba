#include "bench.h"

/* The loop under a directive: the directives differ in simd and in who chooses the launch's sizes.  */
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
#pragma omp target teams distribute parallel for simd num_teams(teams) thread_limit(threads) num_threads(threads)       \
    map(to : a[0 : n], b[0 : n]) map(from : r[0 : n])
      LOOP
    }
  else if (l->simd)
    {
#pragma omp target teams distribute parallel for simd map(to : a[0 : n], b[0 : n]) map(from : r[0 : n])
      LOOP
    }
  else if (teams && threads)
    {
#pragma omp target teams distribute parallel for num_teams(teams) thread_limit(threads) num_threads(threads)            \
    map(to : a[0 : n], b[0 : n]) map(from : r[0 : n])
      LOOP
    }
  else
    {
#pragma omp target teams distribute parallel for map(to : a[0 : n], b[0 : n]) map(from : r[0 : n])
      LOOP
    }
  return 0;
}
