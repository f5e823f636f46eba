// A vector is mapped, its elements are not; what a region of a method uses is the object's.
#include <vector>
struct base
{
  std::vector<double> cells;
};
struct grid : base
{
  int n;
  double sum ()
  {
    double s = 0;
#pragma omp target map(tofrom: s)
    for (int i = 0; i < n; i++)
      s += cells[i];
    return s;
  }
};
int
main ()
{
  grid g;
  g.n = 16;
  g.cells.assign (16, 1);
  return g.sum () != 16;
}
