/* check: race a */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int a[64] = { 0 }, seen = 0, ready = 0;
#pragma omp target parallel num_threads(2) map(tofrom: a, seen, ready)
  if (omp_get_thread_num() == 1) {
    seen = a[0];
#pragma omp atomic write
    ready = 1; /* relaxed: it says when, but orders nothing */
  } else {
    int go = 0;
    while (!go) {
#pragma omp atomic read
      go = ready;
    }
    a[0] += 1; /* its own read comes between the other's and the write */
  }
  printf("%d\n", seen + a[0]);
  return 0;
}
