// The same in C++: a variable with a constructor, a mapper, a reduction.
#include <cstdio>
#include <vector>

struct Built
{
  int value;
  Built() : value(7) {}
  ~Built() {}
};

#pragma omp begin declare target
Built built;
#pragma omp end declare target

struct Box
{
  double *data;
  int n;
};
#pragma omp declare mapper(Box b) map(b, b.data[0 : b.n])

int main()
{
  std::vector<double> all(100, 1.5);
  double *data = all.data(), sum = 0;
  int seen = 0;
  Box box = {data, 100};
#pragma omp target teams distribute parallel for reduction(+ : sum) map(to : data[0 : 100])
  for (int i = 0; i < 100; i++)
    sum += data[i];
#pragma omp target map(tofrom : box) map(from : seen)
  {
    for (int i = 0; i < box.n; i++)
      box.data[i] *= 2;
    seen = built.value;
  }
  std::printf("%g %g %g %d\n", sum, all[0], all[99], seen);
}
