#include <stdio.h>
#include <stdlib.h>
int main (void)
{
  #pragma omp target
  { printf ("half a line"); exit (3); }
}
