/* check: right */
#include <omp.h>
#include <stdio.h>

int a[3000], ready;

int main(void)
{
  int done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp target map(from: a) nowait depend(out: a)
    for (int i = 0; i < 3000; i++) a[i] = i;
#pragma omp task depend(in: a)
    {
#pragma omp atomic write release
      ready = 1;
    }
    if (omp_get_num_threads() == 1) {
#pragma omp taskwait  /* taskyield alone would not run the task */
    }
    while (!done) {
#pragma omp taskyield
#pragma omp atomic read acquire
      done = ready;
    }
    a[2] = 7;  /* a task that depends on the region has said that it is over */
#pragma omp taskwait
  }
  printf("%d %d\n", a[1], a[2]);
  return 0;
}
