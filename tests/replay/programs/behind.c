#include <omp.h>
#include <stdio.h>

/* A region with nowait waits for what this thread does behind its directive.  */
int
main (void)
{
  int x = 0, y = 0;
  omp_event_handle_t event;
#pragma omp parallel num_threads(1)
  {
#pragma omp task detach(event) depend(out: y)
    y = 1;
#pragma omp target nowait depend(inout: y) map(tofrom: x, y)
    x = y + 1;
    omp_fulfill_event (event);
#pragma omp taskwait
  }
  printf ("%d\n", x);
  return 0;
}
