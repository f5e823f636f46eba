#include <stdio.h>
#include <stdlib.h>
int main (void)
{
  int n = 4, *a = calloc (n, sizeof (int));
  #pragma omp target map(tofrom: a[:n])
  for (int i = 0; i < n; i++)
    a[i] = i;
  printf ("%d\n", a[3]);
  free (a);
}
