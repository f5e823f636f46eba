/* Regions on a GPU: combined, generic with parallel inside, math, memory of the device, declare target, output.  */
#include <math.h>
#include <omp.h>
#include <stdio.h>

#pragma omp declare target
int base = 7;
static int
add_base (int x)
{
  return x + base;
}
#pragma omp end declare target

int
main (void)
{
  int a[100], sum = 0, inside = 0, where = 1, device = -1;
  double x = 0.5;
  struct { int first[40]; } private_one = { { 1, 2, 3 } };
  for (int i = 0; i < 100; i++)
    a[i] = i;
  #pragma omp target teams distribute parallel for map(tofrom: a) reduction(+: sum)
  for (int i = 0; i < 100; i++)
    {
      a[i] = add_base (a[i]);
      sum += a[i];
    }
  #pragma omp target map(tofrom: inside, where, device) firstprivate(private_one)
  {
    where = omp_is_initial_device ();
    device = omp_get_device_num ();
    #pragma omp parallel num_threads(64)
    {
      #pragma omp atomic
      inside += private_one.first[1];
    }
  }
  #pragma omp target map(tofrom: x)
  {
    x = sin (x) + sqrt (x);
    printf ("%.6f on the device\n", x);
  }
  base = 100;
  #pragma omp target update to(base)
  #pragma omp target map(from: sum)
  sum = add_base (1);
  printf ("%d %d %d %d %d %.6f %d\n", a[0], a[99], inside, where, device, x, sum);
  return 0;
}
