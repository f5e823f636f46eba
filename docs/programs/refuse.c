#include <stdlib.h>
#pragma omp declare target
void stop (int x)
{
  if (x)
    abort ();
}
#pragma omp end declare target
int main (int argc, char **argv)
{
  #pragma omp target map(to: argc)
  stop (argc);
}
