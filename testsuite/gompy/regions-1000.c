/* A thousand regions in one file.  */
/* { dg-do run } */
/* { gompy-prepare "for i in $(seq 1000); do echo \"int r$i (int x) {\\n#pragma omp target map(tofrom: x)\\n x += $i;\\n return x; }\"; done > regions.h; (for i in $(seq 1000); do echo \"r$i,\"; done) > names.h" } */
/* { dg-options "-O1 -I." } */
/* { gompy-launches 1000 } */

#include "regions.h"
static int (*const all[]) (int) = {
#include "names.h"
};

int
main (void)
{
  int x = 0;
  for (int i = 0; i < 1000; i++)
    x = all[i] (x);
  return x != 1000 * 1001 / 2;
}
