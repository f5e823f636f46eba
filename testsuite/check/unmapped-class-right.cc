// check: right
#include <cstdio>

class Box {
  int n = 30;
  int *data = new int[30]();
public:
  int total()
  {
    int sum = 0;
    int *p = data;
#pragma omp target map(tofrom: sum) map(to: p[0:n])
    for (int i = 0; i < 30; i++) sum += p[i];
    return sum;
  }
  ~Box() { delete[] data; }
};

int main()
{
  Box box;
  std::printf("%d\n", box.total());
}
