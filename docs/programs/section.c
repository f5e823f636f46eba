#include <stdlib.h>
int main (void)
{
  size_t n = 1 << 12;
  char *a = calloc (n, 1);
  #pragma omp target map(to: a[:1000 * n])
  (void) a[0];
}
