// Structs with pointers, a custom mapper, members, globals that are built on the device, lambdas.
#include <cstdio>

struct Noted
{
  int value;
  Noted() : value(40) { printf("built\n"); }
  ~Noted() { printf("destroyed with %d\n", value); }
};

#pragma omp declare target
Noted noted;
int global_array[4] = {1, 2, 3, 4};
#pragma omp end declare target

struct Vector
{
  int size;
  double *data;
};
#pragma omp declare mapper(Vector v) map(v, v.data[0 : v.size])

struct Pair
{
  int first, between, second;
};

int main()
{
#pragma omp target
  noted.value += 2;

  double storage[8];
  Vector v{8, storage};
  for (int i = 0; i < 8; i++)
    storage[i] = i;
#pragma omp target map(tofrom : v)
  for (int i = 0; i < v.size; i++)
    v.data[i] *= 2;
  printf("%d %d %g\n", v.data == storage, v.size, storage[7]);

  Pair pair{1, 2, 3};
#pragma omp target map(tofrom : pair.first) map(tofrom : pair.second)
  pair.first += 10, pair.second += 20;
  printf("%d %d %d\n", pair.first, pair.between, pair.second);

#pragma omp target
  global_array[2] += 5;
  global_array[2] = 0;
#pragma omp target update from(global_array)
  printf("%d\n", global_array[2]);

  int sum = 0;
  auto add = [&sum](int n) { sum += n; };
#pragma omp target map(tofrom : sum)
  add(7);
  printf("%d\n", sum);
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
  for (int i = 0; i < 100; i++)
    sum += i;
  printf("%d\n", sum);
  return 0;
}
