/* Apple: two target regions and a variable that lives on the device.  */

#include "fruit.h"

#include <omp.h>

#pragma omp declare target
int apple_pips = 100;
#pragma omp end declare target

struct bite
apple_peel (int add)
{
  struct bite b = { 0, 0, 0 };
#pragma omp target map(tofrom: b)
  {
    apple_pips += add;
    b.number = 11;
    b.fruit = apple_pips;
    b.on_host = omp_is_initial_device ();
  }
  return b;
}

struct bite
apple_core (int add)
{
  struct bite b = { 0, 0, 0 };
#pragma omp target map(tofrom: b)
  {
    apple_pips += 10 * add;
    b.number = 12;
    b.fruit = apple_pips;
    b.on_host = omp_is_initial_device ();
  }
  return b;
}
