/* The region uses a pointer that is not mapped.  */
#include <stdio.h>
#include <stdlib.h>

struct box { int *values; };

int
main (void)
{
  struct box box = { malloc (4 * sizeof (int)) };
  int sum = 0;
  box.values[1] = 2;
  #pragma omp target map(to: box) map(tofrom: sum)
  sum = box.values[1];
  printf ("%d\n", sum);
}
