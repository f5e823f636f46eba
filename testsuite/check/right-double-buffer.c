/* check: right */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
  int n = 1000;
  double *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out);
  for (int i = 0; i < n; i++) in[i] = i;
#pragma omp target enter data map(to: in[0:n]) map(alloc: out[0:n])
  for (int step = 0; step < 4; step++)
    {
#pragma omp target
      for (int i = 0; i < n; i++) out[i] = in[i] + 1;
      double *t = in;
      in = out;
      out = t;
    }
#pragma omp target exit data map(from: in[0:n]) map(release: out[0:n])
  printf("%g\n", in[0]);
  free(in);
  free(out);
  return 0;
}
