/* A shared object goes while data that its caller mapped stays; its image is unloaded, and loaded again.  */
/* { dg-do run } */
/* { gompy-prepare "$CC -fopenmp -fPIC -shared -DNAME=part -DADD=10 -x c $SRC/dso-part.h -o libpart.so" } */
/* { gompy-launches 5 } */

#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>

int
main (void)
{
  int data[100];
  for (int i = 0; i < 100; i++)
    data[i] = i;
#pragma omp target enter data map(to: data)
  for (int round = 0; round < 3; round++)
    {
      void *object = dlopen ("./libpart.so", RTLD_NOW);
      if (!object)
	abort ();
      int (*part) (int) = (int (*) (int)) dlsym (object, "part");
      /* The counter begins anew with each load.  */
      if (part (0) != 11 || part (0) != 12)
	abort ();
      dlclose (object);
      if (omp_target_is_present (data, omp_get_default_device ()) != 1)
	abort ();
#pragma omp target
      data[round] += 1000;
    }
#pragma omp target exit data map(from: data)
  for (int i = 0; i < 100; i++)
    if (data[i] != i + (i < 3 ? 1000 : 0))
      abort ();
  return 0;
}
