// Declare target variables with a constructor: GCC 12 runs it on the host, before main, and the destructor too, after it;
// the device's copy is constructed when the image is loaded, and destroyed with it.
// { dg-do run }
// { gompy-sets "-O0" "-O2" }
// { gompy-launches 3 }
// { dg-output "constructed 5\nmain\nconstructed 5\ndestroyed 6\ndestroyed 6\n$" }

#include <cstdio>
#include <cstdlib>

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
  int before = -1, after = -1;
  std::puts ("main");
#pragma omp target map(from: before)
  before = counter.value * 10 + plain;
  if (before != 55)
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
