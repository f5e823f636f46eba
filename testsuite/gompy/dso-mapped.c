/* dlclose while a region has mapped the shared object's own variables and memory of the heap, and nobody has unmapped
   them: what the heap has stays mapped for who knows its address, and the object can come and go again.  */
/* { dg-do run } */
/* { gompy-prepare "$CC -fopenmp -fPIC -shared -O2 -x c $SRC/dso-mapped.h -o libmapped.so" } */
/* { gompy-launches 7 } */

#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>

int
main (void)
{
  int *heap[3];
  for (int round = 0; round < 3; round++)
    {
      void *object = dlopen ("./libmapped.so", RTLD_NOW);
      if (!object)
	abort ();
      int *(*map) (int) = (int *(*) (int)) dlsym (object, "map");
      int (*use) (int *) = (int (*) (int *)) dlsym (object, "use");
      heap[round] = map (round);
      if (use (heap[round]) != round + 1000)
	abort ();
      dlclose (object);
    }
  /* On the host nothing is ever mapped, so the test of presence is for devices.  */
  int device = omp_get_default_device (), devices = omp_get_num_devices ();
  for (int round = 0; round < 3; round++)
    {
      int *p = heap[round];
      if (devices && !omp_target_is_present (p, device))
	abort ();
#pragma omp target exit data map(from: p[:100])
      if (p[99] != round + 1000 || (devices && omp_target_is_present (p, device)))
	abort ();
      free (p);
    }
  int x = 0;
#pragma omp target map(from: x)
  x = 1;
  return x != 1;
}
