/* A static program has no devices to load: libgompy is a shared library.  gompcc says so when it links, with the program
   as with an archive of regions, and the regions run on the host.  Stock gcc says nothing; with an nvptx image its -static
   program dies in the plugin (two libgomps), and -static-pie does not link.  The other lines are ld's, about libgomp.a's
   own dlopen.  */
/* { dg-do run } */
/* { gompy-sets "-static" "-static-pie" "-static -O0 -g" } */
/* { gompy-prepare "$CC -fopenmp -O2 -c -DN=2 -x c $SRC/archive-member.h -o m2.o && ar rcs libm2.a m2.o" } */
/* { dg-additional-options "-L. -lm2" } */
/* { dg-skip-if "an nvptx image in a static program" { offload_target_nvptx && { ! gompy } } } */
/* { dg-warning "a static program cannot load devices .libgompy is a shared library.: its regions will run on the host" "" { target gompy } 0 } */
/* { dg-prune-output "in function .gomp_target_init" } */
/* { dg-prune-output "Using 'dlopen' in statically linked applications" } */
/* { dg-set-target-env-var OMP_TARGET_OFFLOAD "default" } */
/* { gompy-launches 0 } */

#include <omp.h>
#include <stdlib.h>

extern int f_2 (int);

int
main (void)
{
  int x = 1, host = 0, threads = 0;
#pragma omp target map(tofrom: x) map(from: host)
  {
    x += 40;
    host = omp_is_initial_device ();
  }
#pragma omp target data map(tofrom: x)
  {
#pragma omp target map(tofrom: x)
    x++;
#pragma omp target update from(x)
  }
#pragma omp parallel num_threads(2) reduction(+: threads)
  threads++;
  if (omp_get_num_devices () != 0 || omp_get_initial_device () != 0)
    abort ();
  return x != 42 || !host || threads != 2 || f_2 (40) != 42;
}
