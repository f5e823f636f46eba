// A class maps what its member points to; a template maps a parameter.
#include <vector>

struct values
{
  int n;
  double *p;
  void twice ()
  {
#pragma omp target map(tofrom: p[0:n])
    for (int i = 0; i < n; i++)
      p[i] *= 2;
  }
};

template <class T>
T
first (T *t, int n)
{
#pragma omp target map(tofrom: t[0:n])
  t[0] *= 2;
  return t[0];
}

int
main ()
{
  std::vector<double> v (10, 1.5);
  values s = { 10, v.data () };
  s.twice ();
  return first (v.data (), 10) != 6;
}
