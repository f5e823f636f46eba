/* nowait, depend, two threads at a device at the same time.  */
#include <stdio.h>

int main(void)
{
  int a = 1, b = 0, c[2] = {0, 0};
#pragma omp target nowait depend(out : a) map(tofrom : a)
  a += 4;
#pragma omp target nowait depend(in : a) depend(out : b) map(tofrom : b) map(to : a)
  b = a * 2;
#pragma omp taskwait
  printf("%d %d\n", a, b);
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 100; j++)
      {
#pragma omp target map(tofrom : c[i : 1])
        c[i] += j;
      }
  printf("%d %d\n", c[0], c[1]);
#ifndef GOOD
#pragma omp target device(7)
  c[0] = 0;
#endif
  return 0;
}
