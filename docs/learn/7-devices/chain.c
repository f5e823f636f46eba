#include <stdio.h>
int a = 1, b;
int main (void)
{
  #pragma omp parallel
  #pragma omp single
  {
    #pragma omp target nowait depend(out: a) map(tofrom: a)
    a += 10;
    #pragma omp target nowait depend(in: a) depend(out: b) map(to: a) map(from: b)
    b = 2 * a;
    #pragma omp task depend(in: b)
    printf ("a = %d, b = %d\n", a, b);
  }
}
