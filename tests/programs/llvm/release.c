/* What each release of clang compiles in its own way: entries, a struct's pointer, kernel arguments, teams.  */
#include <stdio.h>
#include <stdlib.h>

struct Section
{
  int n, *items;
};

#pragma omp begin declare target
int shift = 3;
#pragma omp end declare target

int main(void)
{
  int *items = malloc(10 * sizeof *items), x = 5;
  struct Section s = {10, items};
  for (int i = 0; i < 10; i++)
    items[i] = i;
#pragma omp target map(tofrom : items[0 : 10], x)
  {
    for (int i = 0; i < 10; i++)
      items[i] += x;
    x = shift;
  }
#pragma omp target map(s, s.items[0 : 10])
  for (int i = 0; i < s.n; i++)
    s.items[i] *= 2;
#pragma omp target enter data map(to : s, s.items[0 : 10])
#pragma omp target teams distribute parallel for
  for (int i = 0; i < 10; i++)
    s.items[i] += 1;
#pragma omp target exit data map(from : s.items[0 : 10]) map(release : s)
  printf("%d %d %d\n", items[0], items[9], x);
  free(items);
}
