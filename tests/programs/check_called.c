#include <stdlib.h>
#pragma omp declare target
static __attribute__((noinline)) void helper(int *q)
{
  *q = 2;
}
#pragma omp end declare target
int main(void)
{
  int *b = malloc(400), s = 0;
  struct { int *p; } v = { b };
#pragma omp target map(to: v) map(tofrom: s)
  {
    helper(v.p);
    s++;
  }
  return s == 5;
}
