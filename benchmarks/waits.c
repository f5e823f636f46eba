/* waits REGIONS MICROSECONDS: regions that wait, on all devices, each thread of the host giving its device the next one when it
   has ended one.  Regions that only wait need no processor, so what devices of one machine cost each other is left out.

   Prints JSON: devices, regions, seconds until all devices are started, seconds of the regions.  */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  int regions = argc > 1 ? atoi (argv[1]) : 1, wait = argc > 2 ? atoi (argv[2]) : 0, on_host = 0;
  double begin = omp_get_wtime ();
  int devices = omp_get_num_devices ();
  double started = 0, end = 0;
#pragma omp parallel num_threads(devices) reduction(+: on_host)
  {
    int device = omp_get_thread_num (), host = 0;
#pragma omp target device(device)
    ;
#pragma omp barrier
#pragma omp master
    started = omp_get_wtime ();
#pragma omp for schedule(dynamic)
    for (int i = 0; i < regions; i++)
      {
#pragma omp target device(device) map(from: host) firstprivate(wait)
	{
	  host = omp_is_initial_device ();
	  if (wait)
	    usleep (wait);
	}
	on_host += host;
      }
#pragma omp master
    end = omp_get_wtime ();
  }
  printf ("{\"devices\": %d, \"regions\": %d, \"wait\": %d, \"start\": %.6f, \"seconds\": %.6f, \"on_host\": %d}\n", devices,
	  regions, wait, started - begin, end - started, on_host);
  return 0;
}
