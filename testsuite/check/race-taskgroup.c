/* check: race a */
#include <stdio.h>

int main(void)
{
  static int a[4096];
  for (int i = 0; i < 4096; i++) a[i] = 0;
#pragma omp target map(tofrom: a) nowait depend(out: a)
  for (int i = 0; i < 4096; i++) a[i]++;
#pragma omp taskgroup
  puts("it waits for what is met in it");
  a[2000] = 5;
#pragma omp taskwait
  printf("%d\n", a[1]);
  return 0;
}
