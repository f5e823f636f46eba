/* check: right */
#include <cstdio>
#include <vector>

int main()
{
  std::vector<double> v(100, 1.0);
  double *p = v.data();
  double sum = 0;
#pragma omp target enter data map(to: p[0:100])
  v.resize(100, 1.0);
  double *q = v.data();
#pragma omp target map(tofrom: sum)
  for (int i = 0; i < 100; i++) sum += q[i];
#pragma omp target exit data map(release: p[0:100])
  std::printf("%g\n", sum);
}
