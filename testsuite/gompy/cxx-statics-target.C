// Declare target variables with a constructor: GCC 12 runs it on the host, before main, and the destructor too, after it;
// the device's copy starts as zeros until an update brings the host's.  (On the host there is only one copy.)
// { dg-do run }
// { gompy-sets "-O0" "-O2" }
// { gompy-launches 3 }
// { dg-output "constructed 5\nmain\ndestroyed 6\n$" }

#include <cstdio>
#include <cstdlib>
#include <omp.h>

static int five () { return 5; }

#pragma omp declare target
struct Counter
{
  int value;
  Counter (int v) : value (v) { std::printf ("constructed %d\n", v); }
  ~Counter () { std::printf ("destroyed %d\n", value); }
};
Counter counter (five ());
static int plain = 5;
#pragma omp end declare target

int
main ()
{
  int before = -1, after = -1, host = -1;
  std::puts ("main");
#pragma omp target map(from: before, host)
  {
    host = omp_is_initial_device ();
    before = counter.value * 10 + plain;
  }
  if (before != (host ? 55 : 5))
    abort ();
#pragma omp target update to(counter)
#pragma omp target map(from: after)
  after = counter.value++;
  if (after != 5)
    abort ();
#pragma omp target update from(counter)
  if (counter.value != 6)
    abort ();
#pragma omp target map(from: after)
  after = counter.value;
  return after != 6;
}
