/* Regions of several threads run together; a region may wait for one that was started after it.  */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int
main (void)
{
  int done[4] = { 0 }, words[2] = { 0 }, host = omp_get_initial_device ();
  int *shared = omp_target_alloc (sizeof words, 0);
  omp_target_memcpy (shared, words, sizeof words, 0, 0, 0, host);
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 4; i++)
    {
#pragma omp target map(tofrom : done[i : 1]) is_device_ptr(shared)
      {
        __atomic_add_fetch (shared, 1, __ATOMIC_ACQ_REL);
        while (__atomic_load_n (shared, __ATOMIC_ACQUIRE) < 4)
          usleep (100);
        done[i] = i + 1;
      }
    }
  printf ("%d %d %d %d\n", done[0], done[1], done[2], done[3]);
#pragma omp target is_device_ptr(shared) nowait
  {
    while (__atomic_load_n (shared, __ATOMIC_ACQUIRE) != 5)
      usleep (100);
    shared[1] = 7;
  }
#pragma omp target is_device_ptr(shared) nowait
  __atomic_store_n (shared, 5, __ATOMIC_RELEASE);
#pragma omp taskwait
  omp_target_memcpy (words, shared, sizeof words, 0, 0, host, 0);
  printf ("%d %d\n", words[0], words[1]);
  omp_target_free (shared, 0);
  return 0;
}
