// Static constructors of the host run on the host only; the device has the constants; objects are made in regions.
// { dg-do run }
// { dg-skip-if "nvptx has no aliases; where none is needed, gcc maps Far's vtable from read-only memory and back" { offload_target_nvptx } }
// { gompy-sets "-O0" "-O2" }
// { gompy-launches 2 }

#include <cstdlib>

static int constructed, destroyed;

struct Counter
{
  int value;
  Counter (int v) : value (v) { constructed++; }
  ~Counter () { destroyed++; }
};

static Counter on_host (5);

#pragma omp declare target
struct Point
{
  int x, y;
  constexpr Point (int a, int b) : x (a), y (b) {}
  virtual int norm () const { return x * x + y * y; }
  virtual ~Point () {}
};
struct Far : Point
{
  using Point::Point;
  int norm () const override { return 1000 + Point::norm (); }
};
constexpr int table[] = { 2, 3, 5 };
#pragma omp end declare target

int
main ()
{
  if (constructed != 1 || on_host.value != 5)
    abort ();
  int sum = 0;
#pragma omp target map(tofrom: sum)
  {
    Far f (table[0], table[1]);
    const Point &p = f;
    sum = p.norm ();
  }
  if (sum != 1013)
    abort ();
#pragma omp target map(tofrom: sum)
  sum += table[2];
  if (sum != 1018 || constructed != 1 || destroyed != 0)
    abort ();
}
