// check: right
#include <cstdio>
#include <cstdlib>

int main()
{
  float *a = static_cast<float *>(std::calloc(40, sizeof(float)));
  float sum = 0;
#pragma omp target enter data map(to: a[0:40])
#pragma omp target map(tofrom: sum)
  for (int i = 0; i < 40; i++) sum += a[i];
#pragma omp target exit data map(delete: a[0:40])
  std::printf("%g\n", sum);
  std::free(a);
}
