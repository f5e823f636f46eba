/* check: race ready */
#include <omp.h>
#include <stdio.h>

/* One thread counts by atomic operations, the others look without one.  */
int main(void)
{
  int ready = 0, seen = 0;
#pragma omp target parallel num_threads(4) map(tofrom: ready, seen)
  if (omp_get_thread_num() == 0)
    {
#pragma omp atomic
      ready++;
    }
  else if (ready)
    {
#pragma omp atomic
      seen++;
    }
  printf("%d %d\n", ready, seen <= 3);
  return 0;
}
