/* remote_trips N: N regions with three small maps.  */
#include <stdio.h>
#include <stdlib.h>

int
main (int argc, char **argv)
{
  int regions = argc > 1 ? atoi (argv[1]) : 1, a[16] = { 1 }, b[16] = { 0 }, c = 0, wrong = 0;
  for (int i = 0; i < regions; i++)
    {
#pragma omp target map(to : a) map(tofrom : b) map(from : c)
      {
        b[i % 16] += a[0];
        c = i;
      }
      wrong += c != i || b[i % 16] != i / 16 + 1;
    }
  printf ("%d regions, %d wrong\n", regions, wrong);
  return wrong != 0;
}
