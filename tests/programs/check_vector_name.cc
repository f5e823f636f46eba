// The pointer is named by what the program calls it; a vector has the same elements.
#include <vector>
int
main ()
{
  std::vector<int> v (16, 1);
  int *p = v.data (), got = 0;
#pragma omp target enter data map(to: p[:16])
#pragma omp target map(tofrom: got)
  for (int i = 0; i < 16; i++)
    p[i]++;
  got = v[3];
#pragma omp target exit data map(delete: p[:16])
  return got != 1;
}
