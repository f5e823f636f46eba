/* Second source of dso-mapped.c: a shared object that leaves its own variables and heap mapped.  */
#include <stdlib.h>

static int own[1000];
#pragma omp declare target
int resident[50];
#pragma omp end declare target

int *
map (int value)
{
  int *p = malloc (100 * sizeof (int));
  for (int i = 0; i < 100; i++)
    p[i] = value;
#pragma omp target enter data map(to: p[:100]) map(to: own)
#pragma omp target map(alloc: own)
  {
    own[999] = 1000;
    resident[49] = 1;
  }
  return p;
}

int
use (int *p)
{
#pragma omp target map(alloc: own)
  for (int i = 0; i < 100; i++)
    p[i] += own[999] * resident[49];
#pragma omp target update from(p[:100])
  return p[99];
}
