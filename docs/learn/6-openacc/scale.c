#include <openacc.h>
#include <stdio.h>
float x[1000];
int main (void)
{
  for (int i = 0; i < 1000; i++)
    x[i] = i;
  #pragma acc parallel loop copy(x)
  for (int i = 0; i < 1000; i++)
    x[i] *= 2;
  printf ("%g, on %s\n", x[999], acc_get_property_string (0, acc_get_device_type (), acc_property_name));
}
