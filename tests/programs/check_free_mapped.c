#include <omp.h>
#include <stdlib.h>
int main (void)
{
  int *a = calloc (100, sizeof *a), *d;
#pragma omp target enter data map(to: a[:100])
#pragma omp target data use_device_ptr(a)
  d = a;
  omp_target_free (d, omp_get_default_device ());
#pragma omp target exit data map(delete: a[:100])
}
