// check: unmapped
#include <cstdio>

struct node { int value; node *next; };

int main()
{
  node second = { 2, nullptr }, first = { 1, &second };
  int sum = 0;
#pragma omp target map(to: first) map(tofrom: sum)
  for (node *p = &first; p; p = p->next) sum += p->value;
  std::printf("%d\n", sum);
}
