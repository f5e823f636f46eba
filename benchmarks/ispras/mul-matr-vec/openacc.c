#include "bench.h"

/* The rows are dealt to teams and threads; with simd the lanes share a row.  */
#define LOOP(INNER)                                                                                                     \
  for (long i = 0; i < n; i++)                                                                                          \
    {                                                                                                                   \
      double sum = 0;                                                                                                   \
      INNER                                                                                                             \
      for (long j = 0; j < n; j++)                                                                                      \
        sum += a[i * n + j] * b[j];                                                                                     \
      r[i] = sum;                                                                                                       \
    }

int
bench_region (const struct problem *p, const struct launch *l)
{
  const double *a = p->a, *b = p->b;
  double *r = p->r;
  long n = p->nr;
  int teams = l->teams, threads = l->threads;
  if (l->simd && teams && threads)
    {
#pragma acc parallel loop gang worker num_gangs(teams) num_workers(threads) vector_length(32)                           \
    present(a[0 : n * n], b[0 : n], r[0 : n])
      LOOP (_Pragma ("acc loop vector reduction(+ : sum)"))
    }
  else if (l->simd)
    {
#pragma acc parallel loop gang worker present(a[0 : n * n], b[0 : n], r[0 : n])
      LOOP (_Pragma ("acc loop vector reduction(+ : sum)"))
    }
  else if (teams && threads)
    {
#pragma acc parallel loop gang worker num_gangs(teams) num_workers(threads) vector_length(32)                           \
    present(a[0 : n * n], b[0 : n], r[0 : n])
      LOOP (_Pragma ("acc loop seq"))
    }
  else
    {
#pragma acc parallel loop gang worker present(a[0 : n * n], b[0 : n], r[0 : n])
      LOOP (_Pragma ("acc loop seq"))
    }
  return 0;
}
