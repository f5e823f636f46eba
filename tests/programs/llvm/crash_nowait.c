/* The last region of three that do not wait writes through a null pointer.  The others have ended by then: one that
   began after it would fail, too, as the device is gone, and might say so first.  */
#include <stdio.h>

int main (void)
{
  int *nowhere = 0;
  printf ("before\n");
#pragma omp target nowait
  { }
#pragma omp target nowait
  { }
#pragma omp taskwait
#pragma omp target nowait
  *nowhere = 42;
#pragma omp taskwait
  return 0;
}
