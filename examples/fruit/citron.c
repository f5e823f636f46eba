/* Citron: two target regions and a variable that lives on the device.  */

#include "fruit.h"

#include <omp.h>

#pragma omp declare target
int citron_drops = 300;
#pragma omp end declare target

struct bite
citron_peel (int add)
{
  struct bite b = { 0, 0, 0 };
#pragma omp target map(tofrom: b)
  {
    citron_drops += add;
    b.number = 31;
    b.fruit = citron_drops;
    b.on_host = omp_is_initial_device ();
  }
  return b;
}

struct bite
citron_juice (int add)
{
  struct bite b = { 0, 0, 0 };
#pragma omp target map(tofrom: b)
  {
    citron_drops += 10 * add;
    b.number = 32;
    b.fruit = citron_drops;
    b.on_host = omp_is_initial_device ();
  }
  return b;
}
