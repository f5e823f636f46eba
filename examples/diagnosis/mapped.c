/* What is mapped, found, copied and removed: each kind of it once.  */

#include <omp.h>
#include <stdlib.h>
int table[4] = { 1, 2, 3, 4 };
int
main (void)
{
  int a[16] = { 0 }, n = 16;
  double *heap = calloc (n, sizeof *heap);
#pragma omp target map(tofrom: a) firstprivate(n)
  a[n - 1] = 1;
#pragma omp target enter data map(to: heap[0:n])
#pragma omp target map(tofrom: heap[4:8], table)
  heap[4] = table[1];
#pragma omp target update from(heap[4:8])
#pragma omp target exit data map(delete: heap[0:n])
#pragma omp target if(0)
  a[0] = 2;
  void *p = omp_target_alloc (64, 0);
  omp_target_memcpy (p, a, 64, 0, 0, 0, omp_get_initial_device ());
  omp_target_free (p, 0);
  return a[0] != 2;
}
