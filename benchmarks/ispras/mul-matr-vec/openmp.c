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
#pragma omp target teams distribute parallel for num_teams(teams) thread_limit(threads) num_threads(threads)            \
    map(to : a[0 : n * n], b[0 : n]) map(from : r[0 : n])
      LOOP (_Pragma ("omp simd reduction(+ : sum)"))
    }
  else if (l->simd)
    {
#pragma omp target teams distribute parallel for map(to : a[0 : n * n], b[0 : n]) map(from : r[0 : n])
      LOOP (_Pragma ("omp simd reduction(+ : sum)"))
    }
  else if (teams && threads)
    {
#pragma omp target teams distribute parallel for num_teams(teams) thread_limit(threads) num_threads(threads)            \
    map(to : a[0 : n * n], b[0 : n]) map(from : r[0 : n])
      LOOP ()
    }
  else
    {
#pragma omp target teams distribute parallel for map(to : a[0 : n * n], b[0 : n]) map(from : r[0 : n])
      LOOP ()
    }
  return 0;
}
