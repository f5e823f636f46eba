/* check: right */
#include <stdio.h>

int a[3000];

int main(void)
{
  int seen;
  for (int i = 0; i < 3000; i++) a[i] = i;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target enter data map(to: a) nowait depend(out: a)
#pragma omp target map(tofrom: a) nowait depend(inout: a)
    for (int i = 0; i < 3000; i++) a[i] += 1;
    seen = a[5];  /* nothing is copied back before the exit data */
#pragma omp taskwait
#pragma omp target exit data map(from: a)
  }
  printf("%d %d\n", seen, a[5]);
  return 0;
}
