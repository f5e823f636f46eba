/* Members of an archive that are offered to the link but not linked (a common symbol draws them to the plugin, GCC PR
   109128): the tables of host and device must still pair.  */
/* { dg-do run } */
/* { dg-xfail-run-if "PR109128: Cannot map target functions or variables (expected 3, have 6)" { offload_target_nvptx && { ! gompy } } } */
/* { gompy-prepare "for n in 1 2 3; do $CC -fopenmp -fcommon -O2 -c -DN=$n -x c $SRC/archive-member.h -o m$n.o; done; ar rcs libm3.a m1.o m2.o m3.o" } */
/* { dg-options "-O2 -fcommon -L. -lm3" } */
/* { gompy-launches 2 } */

int common_3;
extern int f_2 (int);

int
main (void)
{
  int x = 5;
#pragma omp target map(tofrom: x)
  x *= 3;
  return f_2 (x) != 15 + 2;
}
