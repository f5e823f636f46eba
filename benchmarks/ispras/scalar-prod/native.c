/* r[0] = sum of a[i] * b[i]: two streams of memory and a reduction.  */

#include "bench.h"

const char bench_name[] = "scalar-prod";

void
bench_sizes (struct problem *p)
{
  p->na = p->nb = p->n;
  p->nr = 1;
}

void
bench_fill (struct problem *p)
{
  for (long i = 0; i < p->n; i++)
    {
      p->a[i] = 1 + i % 1009 / 1009.0;
      p->b[i] = 0.5 + i % 757 / 757.0;
    }
}

void
bench_native (const struct problem *p, double *restrict r)
{
  const double *a = p->a, *b = p->b;
  long n = p->n;
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[i] * b[i];
  r[0] = sum;
}
