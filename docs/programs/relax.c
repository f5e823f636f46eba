#include <stdio.h>
#include <stdlib.h>

/* relax STEPS: neighbours of a list get closer to each other; after 100 steps it waits for a line.  */
int main (int argc, char **argv)
{
  int n = 1000, steps = atoi (argv[1]);
  double *a = malloc (n * sizeof *a), *b = calloc (n, sizeof *b), sum = 0;
  struct { double *p; int n; } s = { a, n };
  for (int i = 0; i < n; i++)
    a[i] = i % 17;
#pragma omp target data map(tofrom: a[0:n]) map(to: b[0:n])
  {
#pragma omp target enter data map(to: s) map(to: s.p[0:n])
    for (int k = 0; k < steps; k++)
      {
#pragma omp target teams distribute parallel for
        for (int i = 1; i < n - 1; i++)
          b[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) / 4;
#pragma omp target
        for (int i = 1; i < s.n - 1; i++)
          s.p[i] = b[i];
        if (k % 100 == 99)
          getchar ();
      }
#pragma omp target exit data map(release: s.p[0:n]) map(release: s)
  }
  for (int i = 0; i < n; i++)
    sum += a[i] * (i + 1);
  printf ("%a\n", sum);
  return 0;
}
