/* check: right */
#include <omp.h>
#include <stdio.h>

/* One thread counts by atomic operations, the others look behind a barrier.  */
int main(void)
{
  int ready = 0, seen = 0;
#pragma omp target parallel num_threads(4) map(tofrom: ready, seen)
  {
    if (omp_get_thread_num() == 0)
      {
#pragma omp atomic
        ready++;
      }
#pragma omp barrier
    if (ready)
      {
#pragma omp atomic
        seen++;
      }
  }
  printf("%d %d\n", ready, seen == 4);
  return 0;
}
