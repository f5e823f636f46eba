/* Two regions: the first runs on the device of pool.c, the second, which that knows nothing of, on the host.  */

#include <omp.h>
#include <stdio.h>

int
main (void)
{
  enum { N = 1000 };
  static float x[N];
  int n = N, host = 0;
  for (int i = 0; i < N; i++)
    x[i] = i;
#pragma omp target map(tofrom: x)
  for (int i = 0; i < n; i++)
    x[i] *= x[i];
#pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  printf ("%d devices: %.0f %.0f, second region on the %s\n", omp_get_num_devices (), x[3], x[999],
	  host ? "host" : "device");
  return 0;
}
