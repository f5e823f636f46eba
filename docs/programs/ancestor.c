#include <stdio.h>
#include <stdlib.h>
#pragma omp requires reverse_offload
int main (void)
{
  int found = 0;
  #pragma omp target map(tofrom: found)
  {
    int number = 6;
    printf ("device: %d\n", number);
    #pragma omp target device(ancestor: 1) map(tofrom: number)
    {
      printf ("host: %d, %s\n", number, getenv ("HOME") ? "with a home" : "without");
      number *= 7;
    }
    printf ("device: %d\n", number);
    found = number;
  }
  printf ("host again: %d\n", found);
}
