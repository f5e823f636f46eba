#include <omp.h>
#include <stdio.h>
#define N 1000
double x[N];
int main (void)
{
  int devices = omp_get_num_devices (), part = N / devices;
  for (int d = 0; d < devices; d++)
    {
      int begin = d * part, end = d == devices - 1 ? N : begin + part;
      #pragma omp target teams distribute parallel for device(d) nowait map(from: x[begin : end - begin])
      for (int i = begin; i < end; i++)
        x[i] = i + 1000 * omp_get_device_num ();
    }
  #pragma omp taskwait
  printf ("%d devices: x[0] = %g, x[%d] = %g\n", devices, x[0], N - 1, x[N - 1]);
}
