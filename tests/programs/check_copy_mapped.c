#include <omp.h>
#include <stdlib.h>
int main (void)
{
  int b[200] = { 0 }, *a = calloc (100, sizeof *a), *d;
#pragma omp target enter data map(to: a[:100])
#pragma omp target data use_device_ptr(a)
  d = a;
  omp_target_memcpy (d, b, sizeof b, 0, 0, omp_get_default_device (), omp_get_initial_device ());
#pragma omp target exit data map(delete: a[:100])
}
