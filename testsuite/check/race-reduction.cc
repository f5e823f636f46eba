// check: race sum
#include <cstdio>

int main()
{
  int n = 1000, a[1000];
  long sum = 0;
  int most = 0;
  for (int i = 0; i < n; i++) a[i] = i % 10;
#pragma omp target teams distribute parallel for num_teams(4) map(tofrom: sum) reduction(max: most) map(to: a)
  for (int i = 0; i < n; i++)
  {
    sum += a[i];
    most = a[i] > most ? a[i] : most;
  }
  std::printf("%ld %d\n", sum, most);
}
