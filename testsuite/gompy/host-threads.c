/* Eight host threads at once on two devices, each with data of its own that stays on a device for a while, and data of all
   that each thread maps again and again.  On the host alone there is one copy of everything.  */
/* { dg-do run } */
/* { dg-set-target-env-var OFFLOAD_EMUL_NUM "2" } */
/* { dg-set-target-env-var GOMPY_CUDA_DEVICES "2" } */
/* { gompy-sets "-O2" "-O0 -DCRITICAL" } */
/* { gompy-launches 800 } */

#include <omp.h>
#include <stdlib.h>

static int common[64];

int
main (void)
{
  int devices = omp_get_num_devices ();
  if (devices > 1)
    devices = 2;
  int bad = 0, where[2] = { 0, 0 };
  for (int j = 0; j < 64; j++)
    common[j] = j;
#pragma omp parallel num_threads(8) reduction(+: bad, where)
  {
    int own[50], me = omp_get_thread_num (), home = devices ? me % devices : 0;
    for (int j = 0; j < 50; j++)
      own[j] = me;
#pragma omp target enter data map(to: own) device(home)
#pragma omp for
    for (int i = 0; i < 400; i++)
      {
	int data[50], number = -1, device = devices ? i % devices : 0;
	for (int j = 0; j < 50; j++)
	  data[j] = i;
#pragma omp target map(tofrom: data) map(to: common) map(from: number) device(device)
	{
	  number = omp_get_device_num ();
	  for (int j = 0; j < 50; j++)
	    data[j] += common[j];
	}
	for (int j = 0; j < 50; j++)
	  bad += data[j] != i + j;
	if (devices)
	  where[number & 1]++;
#ifdef CRITICAL
#pragma omp critical
#endif
	{
#pragma omp target map(alloc: own) device(home)
	  own[i % 50]++;
	}
      }
#pragma omp target exit data map(from: own) device(home)
    int sum = 0;
    for (int j = 0; j < 50; j++)
      sum += own[j] - me;
    bad += sum != 50;
  }
  if (devices == 2 && (where[0] != 200 || where[1] != 200))
    abort ();
  return bad != 0;
}
