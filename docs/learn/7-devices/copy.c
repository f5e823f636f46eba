#include <omp.h>
#include <stdio.h>
int main (void)
{
  int from = 0, to = omp_get_num_devices () - 1, host = omp_get_initial_device (), a[4] = {1, 2, 3, 4}, b[4] = {0};
  int *there = omp_target_alloc (sizeof a, from), *other = omp_target_alloc (sizeof a, to);
  omp_target_memcpy (there, a, sizeof a, 0, 0, from, host);
  #pragma omp target device(from) is_device_ptr(there)
  for (int i = 0; i < 4; i++)
    there[i] *= there[i];
  omp_target_memcpy (other, there, sizeof a, 0, 0, to, from);
  omp_target_memcpy (b, other, sizeof a, 0, 0, host, to);
  printf ("device %d to device %d: %d %d %d %d\n", from, to, b[0], b[1], b[2], b[3]);
  omp_target_free (there, from);
  omp_target_free (other, to);
}
