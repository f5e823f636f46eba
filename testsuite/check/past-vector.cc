// check: past-section p
#include <cstdio>
#include <vector>

int main()
{
  std::vector<double> v(300, 1.0);
  double *p = v.data();
  int n = v.size();
#pragma omp target map(tofrom: p[0:n - 100])
  for (int i = 0; i < n; i++) p[i] *= 2;
  std::printf("%g\n", v[0]);
}
