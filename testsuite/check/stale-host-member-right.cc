/* check: right */
#include <cstdio>

class Counter
{
  int values[64] = {};

public:
  Counter() {
#pragma omp target enter data map(to: this[0:1])
  }
  ~Counter() {
#pragma omp target exit data map(release: this[0:1])
  }
  void add(int n)
  {
#pragma omp target
    for (int i = 0; i < 64; i++) values[i] += n;
  }
  int sum()
  {
    int s = 0;
#pragma omp target update from(values)
    for (int i = 0; i < 64; i++) s += values[i];
    return s;
  }
};

int main()
{
  Counter c;
  c.add(3);
  std::printf("%d\n", c.sum());
}
