#include <openacc.h>
#include <stdio.h>
int main (void)
{
  static float x[1000000], y[1000000];
  float sum = 0;
#pragma acc enter data create (x, y)
#pragma acc parallel loop present (x) async (1)
  for (int i = 0; i < 1000000; i++)
    x[i] = i % 7;
#pragma acc parallel loop present (y) async (2)
  for (int i = 0; i < 1000000; i++)
    y[i] = i % 5;
#pragma acc parallel loop present (x, y) reduction (+:sum) wait (1, 2)
  for (int i = 0; i < 1000000; i++)
    sum += x[i] * y[i];
#pragma acc exit data delete (x, y)
  printf ("%g on %s\n", sum, acc_get_property_string (0, acc_get_device_type (), acc_property_name));
}
