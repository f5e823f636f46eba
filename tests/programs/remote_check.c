/* remote_check N [late]: N elements of arrays of which 50 are mapped; late: a block that has been freed is used.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int
main (int argc, char **argv)
{
  int a[100], b[50], n = atoi (argv[1]);
  char *p = omp_target_alloc (4000, 0);
  for (int i = 0; i < 100; i++)
    a[i] = i;
#pragma omp target map(to: a) map(from: b)
  for (int i = 0; i < n; i++)
    b[i] = a[i];
#pragma omp target is_device_ptr(p)
  p[3999] = 1;
  omp_target_free (p, 0);
  if (argc > 2)
    {
#pragma omp target is_device_ptr(p)
      p[0] = 1;
    }
  printf ("%d\n", b[49]);
  return 0;
}
