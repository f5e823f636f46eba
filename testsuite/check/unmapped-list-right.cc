// check: right
#include <cstdio>

struct node { int value; node *next; };

int main()
{
  node second = { 2, nullptr }, first = { 1, &second };
  int sum = 0;
#pragma omp target map(to: first, second) map(tofrom: sum)
  sum = first.value + second.value;
  std::printf("%d\n", sum);
}
