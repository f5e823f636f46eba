// check: right
#include <cstdio>

struct Field {
  int n;
  double *data;
  explicit Field(int size) : n(size), data(new double[size]()) {}
  ~Field() { delete[] data; }
};

int main()
{
  Field f(256);
  double *data = f.data, sum = 0;
  int n = f.n;
#pragma omp target enter data map(to: data[0:n])
#pragma omp target
  for (int i = 0; i < n; i++) data[i] = 0.5;
#pragma omp target update from(data[0:n])
  for (int i = 0; i < n; i++) sum += data[i];
#pragma omp target exit data map(delete: data[0:n])
  std::printf("%g\n", sum);
}
