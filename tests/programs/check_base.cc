// A base class has the pointer that the region uses.
#include <cstdlib>
struct base
{
  float *data;
};
struct field : base
{
  int n;
};
static float
sum (std::size_t n, const field &f)
{
  float s = 0;
#pragma omp target map(to: f) map(tofrom: s)
  for (std::size_t i = 0; i < n; i++)
    s += f.data[i];
  return s;
}
int
main ()
{
  field f;
  f.n = 8;
  f.data = static_cast<float *> (std::calloc (8, 4));
  return sum (8, f) != 0;
}
