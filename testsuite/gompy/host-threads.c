/* Host threads at once, on all devices.  */
/* { dg-do run } */
/* { dg-set-target-env-var GOMPY_DEVICES "intelmic:2" } */
/* { gompy-launches 400 } */

#include <omp.h>
#include <stdlib.h>

int
main (void)
{
  int devices = omp_get_num_devices () ? omp_get_num_devices () : 1;
  int bad = 0;
#pragma omp parallel for num_threads(8) reduction(+: bad)
  for (int i = 0; i < 400; i++)
    {
      int data[50], device = i % devices;
      for (int j = 0; j < 50; j++)
	data[j] = i;
#pragma omp target map(tofrom: data) device(device)
      for (int j = 0; j < 50; j++)
	data[j] += j;
      for (int j = 0; j < 50; j++)
	bad += data[j] != i + j;
    }
  return bad != 0;
}
