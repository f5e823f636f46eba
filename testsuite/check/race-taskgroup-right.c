/* check: right */
#include <stdio.h>

int main(void)
{
  static int a[4096], b[4096];
  for (int i = 0; i < 4096; i++) a[i] = b[i] = 0;
#pragma omp target map(tofrom: b) nowait depend(out: b)
  for (int i = 0; i < 4096; i++) b[i]++;
#pragma omp taskgroup
  {
#pragma omp taskgroup
    {
#pragma omp target map(tofrom: a) nowait depend(out: a)
      for (int i = 0; i < 4096; i++) a[i]++;
    }
    a[2000] = 5;
  }
#pragma omp taskwait
  b[0] = 5;
  printf("%d %d\n", a[1], b[1]);
  return 0;
}
