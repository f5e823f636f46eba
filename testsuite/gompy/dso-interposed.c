/* The program and a shared object define a device variable of one name: on the host the program's interposes the object's,
   so both images have a copy for one host address.  libgompy takes the copy of the image that was loaded first, for all
   that goes by the address; libgomp 12 ends the program ("Duplicate node").  */
/* { dg-do run } */
/* { gompy-prepare "$CC -fopenmp -fPIC -shared -O2 -DNAME=part -DADD=10 -DSHARED -x c $SRC/dso-part.h -o libpart.so" } */
/* { dg-options "-O2 -rdynamic -L. -lpart -Wl,-rpath,." } */
/* { dg-skip-if "libgomp: Duplicate node" { offload_target_nvptx && { ! gompy } } } */
/* { gompy-launches 3 } */

#include <omp.h>
#include <stdlib.h>

#pragma omp declare target
int shared = 1;
#pragma omp end declare target
extern int part (int), host_shared (void);

int
main (void)
{
  int x = 0;
  shared = 5;
  if (host_shared () != 5)
    abort ();
#pragma omp target update to(shared)
  shared = 0;
#pragma omp target update from(shared)
  if (shared != (omp_get_num_devices () ? 5 : 0))
    abort ();
#pragma omp target map(from: x)
  x = 1;
  x = part (x);
  x = part (x);
  return x != 1 + (10 + 1) + (10 + 2);
}
