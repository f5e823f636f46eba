#include <omp.h>
#include <stdio.h>
int main (void)
{
  int a[4] = {1, 2, 3, 4}, device = 0;
  #pragma omp target map(tofrom: a) map(from: device)
  {
    for (int i = 0; i < 4; i++)
      a[i] *= 10;
    device = !omp_is_initial_device ();
  }
  printf ("%d %d %d %d, on %s\n", a[0], a[1], a[2], a[3], device ? "the device" : "the host");
}
