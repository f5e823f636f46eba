/* Two devices: each has its own copy of a variable; a block goes from one to the other.  */
#include <omp.h>
#include <stdio.h>

#pragma omp declare target
int mine = 1;
#pragma omp end declare target

int
main (void)
{
  int host[4] = { 1, 2, 3, 4 }, sum = 0;
  int self = omp_get_initial_device ();
  int *first = omp_target_alloc (sizeof host, 0), *second = omp_target_alloc (sizeof host, 1);
  omp_target_memcpy (first, host, sizeof host, 0, 0, 0, self);
  #pragma omp target device(0) is_device_ptr(first)
  {
    mine += 10;
    for (int i = 0; i < 4; i++)
      first[i] *= 2;
  }
  omp_target_memcpy (second, first, sizeof host, 0, 0, 1, 0);
  #pragma omp target device(1) is_device_ptr(second) map(tofrom: sum)
  {
    for (int i = 0; i < 4; i++)
      sum += second[i];
    sum += 100 * mine;
  }
  omp_target_free (first, 0);
  omp_target_free (second, 1);
  #pragma omp target update from(mine) device(0)
  printf ("%d %d\n", sum, mine);
}
