/* check: right */
#include <stdio.h>

int a[2000], b[2000];

int main(void)
{
  int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp taskgroup
    {
#pragma omp task
      {
#pragma omp target map(tofrom: a) nowait depend(out: a)
        for (int i = 0; i < 2000; i++) a[i] = i;
      }
#pragma omp taskloop
      for (int i = 0; i < 2000; i++) b[i] = i;
    }
    sum = a[3] + b[3];
  }
#pragma omp target map(tofrom: a) nowait
  for (int i = 0; i < 2000; i++) a[i]++;
#pragma omp task if(0) depend(in: a)
  {
  }
#pragma omp taskwait
  printf("%d %d\n", sum, a[4]);
  return 0;
}
