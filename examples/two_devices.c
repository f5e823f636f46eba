/* Every device of the program, and the host, sums up the same numbers.

   gompcc -O2 -fopenmp -foffload=intelmic,nvptx-none two_devices.c -o two_devices && ./two_devices  */

#include <omp.h>
#include <stdio.h>

int
main (void)
{
  int devices = omp_get_num_devices ();
  printf ("%d devices\n", devices);
  for (int d = 0; d <= devices; d++)
    {
      int host = 1, sum = 0;
#pragma omp target teams distribute parallel for reduction(+: sum) device(d) map(tofrom: sum)
      for (int i = 0; i < 1000; i++)
        sum += i;
#pragma omp target device(d) map(from: host)
      host = omp_is_initial_device ();
      printf ("device %d: %s, %d\n", d, host ? "the host" : "a device", sum);
    }
  return 0;
}
