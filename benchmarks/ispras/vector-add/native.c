/* r = a + b: three streams of memory, one addition for each element.  */

#include "bench.h"

const char bench_name[] = "vector-add";

void
bench_sizes (struct problem *p)
{
  p->na = p->nb = p->nr = p->n;
}

void
bench_fill (struct problem *p)
{
  for (long i = 0; i < p->n; i++)
    {
      p->a[i] = 1 + i % 1009;
      p->b[i] = 0.5 + i % 757;
    }
}

void
bench_native (const struct problem *p, double *restrict r)
{
  const double *a = p->a, *b = p->b;
  long n = p->n;
  for (long i = 0; i < n; i++)
    r[i] = a[i] + b[i];
}
