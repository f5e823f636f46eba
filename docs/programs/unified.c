#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#pragma omp requires unified_shared_memory
int main (void)
{
  int *list = malloc (3 * sizeof *list), device = 0;
  #pragma omp target map(from: device)
  {
    list[2] = 42;
    device = !omp_is_initial_device ();
  }
  printf ("%d, on %s\n", list[2], device ? "the device" : "the host");
}
