/* Banana: two target regions and a variable that lives on the device.  */

#include "fruit.h"

#include <omp.h>

#pragma omp declare target
int banana_bunch = 200;
#pragma omp end declare target

struct bite
banana_peel (int add)
{
  struct bite b = { 0, 0, 0 };
#pragma omp target map(tofrom: b)
  {
    banana_bunch += add;
    b.number = 21;
    b.fruit = banana_bunch;
    b.on_host = omp_is_initial_device ();
  }
  return b;
}

struct bite
banana_slice (int add)
{
  struct bite b = { 0, 0, 0 };
#pragma omp target map(tofrom: b)
  {
    banana_bunch += 10 * add;
    b.number = 22;
    b.fruit = banana_bunch;
    b.on_host = omp_is_initial_device ();
  }
  return b;
}
