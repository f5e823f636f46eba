/* r = A b with a square matrix A, rows one after another.  The size n is the number of the matrix's elements; its
   dimension is the root of that, rounded down.  */

#include "bench.h"

const char bench_name[] = "mul-matr-vec";

void
bench_sizes (struct problem *p)
{
  long dimension = 1;
  while ((dimension + 1) * (dimension + 1) <= p->n)
    dimension++;
  p->na = dimension * dimension;
  p->nb = p->nr = dimension;
}

void
bench_fill (struct problem *p)
{
  for (long i = 0; i < p->na; i++)
    p->a[i] = 1 + i % 1009 / 1009.0;
  for (long i = 0; i < p->nb; i++)
    p->b[i] = 0.5 + i % 757 / 757.0;
}

void
bench_native (const struct problem *p, double *restrict r)
{
  const double *a = p->a, *b = p->b;
  long n = p->nr;
  for (long i = 0; i < n; i++)
    {
      double sum = 0;
      for (long j = 0; j < n; j++)
        sum += a[i * n + j] * b[j];
      r[i] = sum;
    }
}
