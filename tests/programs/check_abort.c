#include <stdlib.h>
int main (void)
{
  int n = 3;
  #pragma omp target map(tofrom: n)
  if (++n == 4)
    abort ();
  return n;
}
