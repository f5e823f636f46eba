#include <omp.h>
int main (void)
{
  int b[200] = { 0 };
#pragma omp target
  ;
  omp_target_memcpy ((void *) 64, b, sizeof b, 0, 0, omp_get_default_device (), omp_get_initial_device ());
}
