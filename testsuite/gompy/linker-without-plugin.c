/* lld and mold do not hand objects to gcc's linker plugin, so nobody links the device code: regions run on the host, here
   as with stock gcc.  gompcc says so when it links.  */
/* { dg-do run } */
/* { gompy-needs "ld.lld" } */
/* { dg-options "-O2 -fuse-ld=lld" } */
/* { dg-warning "'lld' does not hand objects to gcc's linker plugin, so no device code is linked: regions will run on the host" "" { target gompy } 0 } */
/* { gompy-launches 0 } */

#include <omp.h>

int
main (void)
{
  int x = 1, host = 0;
#pragma omp target map(tofrom: x) map(from: host)
  {
    x = 2;
    host = omp_is_initial_device ();
  }
  return x != 2 || !host;
}
