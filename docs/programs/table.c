#include <stdio.h>
#pragma omp declare target
int table[4];
#pragma omp end declare target
int main (int argc, char **argv)
{
  #pragma omp target map(to: argc)
  for (int i = 0; i <= 3 + argc; i++)
    table[i] = i;
  #pragma omp target update from(table)
  printf ("%d\n", table[3]);
}
