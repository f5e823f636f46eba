/* One of each construct, routines, and a region that the program keeps on the host.  */
#include <stdio.h>
#include <omp.h>
int main (void)
{
  int a[16] = {0}, n = 3;
  #pragma omp target enter data map(alloc: a)
  #pragma omp target update to(a)
  #pragma omp target map(tofrom: a) firstprivate(n)
  a[n] = 1;
  #pragma omp target exit data map(from: a)
  #pragma omp target map(from: a) if (0)
  a[1] = 1;
  void *p = omp_target_alloc (64, 0);
  omp_target_memcpy (p, a, 64, 0, 0, 0, omp_get_initial_device ());
  omp_target_free (p, 0);
  #pragma omp target map(tofrom: a) nowait
  a[n] = 1;
  #pragma omp taskwait
  printf ("%d\n", a[1]);
  return 0;
}
