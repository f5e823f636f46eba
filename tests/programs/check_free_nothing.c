#include <omp.h>
int main (void)
{
#pragma omp target
  ;
  omp_target_free ((void *) 64, omp_get_default_device ());
}
