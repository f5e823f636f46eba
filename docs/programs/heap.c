#include <stdio.h>
#include <stdlib.h>
int main (int argc, char **argv)
{
  int *a = calloc (4, sizeof *a);
  #pragma omp target map(tofrom: a[:4]) map(to: argc)
  for (int i = 0; i <= 3 + argc; i++)
    a[i] = i;
  printf ("%d\n", a[3]);
}
