/* Three images in one process: the program's and those of two shared objects it is linked with.  */
/* { dg-do run } */
/* { gompy-prepare "$CC -fopenmp -fPIC -shared -DNAME=one -DADD=10 -x c $SRC/dso-part.h -o libone.so" } */
/* { gompy-prepare "$CC -fopenmp -fPIC -shared -DNAME=two -DADD=200 -x c $SRC/dso-part.h -o libtwo.so" } */
/* { dg-options "-O2 -L. -lone -ltwo -Wl,-rpath,." } */
/* { gompy-launches 5 } */

extern int one (int), two (int);

int
main (void)
{
  int x = 0;
#pragma omp target map(tofrom: x)
  x = 1;
  x = one (x);
  x = two (x);
  x = one (x);
  x = two (x);
  /* Each object's counter lives on the device, in its own image.  */
  return x != 1 + (10 + 1) + (200 + 1) + (10 + 2) + (200 + 2);
}
