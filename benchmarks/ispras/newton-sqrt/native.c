/* r = square root of a by Newton's method: STEPS dependent divisions for each element, much arithmetic, little memory.  */

#include "bench.h"
#include "newton-sqrt/steps.h"

const char bench_name[] = "newton-sqrt";

void
bench_sizes (struct problem *p)
{
  p->na = p->nr = p->n;
}

void
bench_fill (struct problem *p)
{
  for (long i = 0; i < p->n; i++)
    p->a[i] = 1 + i % 9973;
}

void
bench_native (const struct problem *p, double *restrict r)
{
  const double *a = p->a;
  long n = p->n;
  for (long i = 0; i < n; i++)
    {
      double v = a[i], x = 0.5 * (v + 1);
      for (int k = 0; k < STEPS; k++)
        x = 0.5 * (x + v / x);
      r[i] = x;
    }
}
