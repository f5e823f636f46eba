/* A detached task before a region with nowait: its order is not seen, and nothing is told.  */
#include <omp.h>
#include <stdio.h>

int a[3000];

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out: a)
    {
    }
#pragma omp target map(tofrom: a) nowait depend(inout: a)
    for (int i = 0; i < 3000; i++) a[i] += i;
    a[2] = 7;  /* the region begins when the event has come */
    omp_fulfill_event(event);
#pragma omp taskwait
  }
  printf("%d %d\n", a[1], a[2]);
  return 0;
}
