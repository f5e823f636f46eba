/* check: right */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int a[64] = { 0 }, seen = 0;
#pragma omp target parallel num_threads(2) map(tofrom: a, seen)
  {
    if (omp_get_thread_num() == 1) seen = a[0];
#pragma omp barrier
    if (omp_get_thread_num() == 0) a[0] += 1;
  }
  printf("%d\n", seen + a[0]);
  return 0;
}
