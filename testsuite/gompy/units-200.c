/* Two hundred translation units with a region and a device variable each.  */
/* { dg-do run } */
/* { gompy-prepare "for i in $(seq 200); do echo \"#pragma omp declare target\\nint v$i = $i;\\n#pragma omp end declare target\\nint u$i (int x) {\\n#pragma omp target map(tofrom: x)\\n x += v$i;\\n return x; }\" > u$i.c; done; $CC -O1 -fopenmp -c u*.c; ar rcs libu.a u*.o; (for i in $(seq 200); do echo \"E(u$i)\"; done) > names.h" } */
/* { dg-options "-O1 -I. -L. -lu" } */
/* { dg-timeout 600 } */
/* { gompy-launches 200 } */

#define E(f) extern int f (int);
#include "names.h"
#undef E
#define E(f) f,
static int (*const all[]) (int) = {
#include "names.h"
};

int
main (void)
{
  int x = 0;
  for (int i = 0; i < 200; i++)
    x = all[i] (x);
  return x != 200 * 201 / 2;
}
