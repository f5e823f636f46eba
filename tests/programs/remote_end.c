/* A region that ends badly, or not: "fault", "exit", "stay".  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  int what = argc > 1 ? argv[1][0] : 's', x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  printf ("begun %d\n", x);
  fflush (stdout);
#pragma omp target map(tofrom : x) firstprivate(what)
  {
    if (what == 'f')
      *(volatile int *) 16 = 1;
    if (what == 'e')
      exit (3);
    while (what == 's')
      usleep (1000);
  }
  return 0;
}
