#include <stdio.h>
double x[4];
int main (void)
{
  #pragma omp target enter data map(to: x)
  for (int step = 1; step <= 3; step++)
    {
      #pragma omp target
      for (int i = 0; i < 4; i++)
        x[i] += 1;
      double before = x[0];
      #pragma omp target update from(x[0])
      printf ("step %d: x[0] was %g, is %g\n", step, before, x[0]);
    }
  #pragma omp target exit data map(from: x)
  printf ("at the end: %g %g\n", x[0], x[3]);
}
