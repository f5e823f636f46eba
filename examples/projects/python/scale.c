/* y = a * x + y on the device; a plain C library, for ctypes.  */
#include "scale.h"

#include <omp.h>

int
scale_add (int n, double a, const double *x, double *y)
{
  int host = 1;
#pragma omp target teams distribute parallel for map(to: x[:n]) map(tofrom: y[:n])
  for (int i = 0; i < n; i++)
    y[i] += a * x[i];
#pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  return !host;
}
