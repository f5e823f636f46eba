/* Calls on the device by pointers of the host's; with an argument also one that no declare target names.  */
#include <stdio.h>

__attribute__ ((noinline)) int other (void) { return 9; }
#pragma omp begin declare target indirect
int five (void) { return 5; }
int six (void) { return 6; }
#pragma omp end declare target

int main (int argc, char **argv)
{
  int (*f[3]) (void) = {five, six, other};
  int n = argc > 1 ? 3 : 2, s = 0;
#pragma omp target map(to: f) map(tofrom: s)
  for (int i = 0; i < n; i++)
    s = s * 10 + f[i] ();
  printf ("%d\n", s);
  return 0;
}
