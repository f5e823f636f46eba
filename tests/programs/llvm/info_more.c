/* What LIBOMPTARGET_INFO tells of a pointer that is attached again, of counts, sizes and mappers.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

struct Part
{
  int n;
  int *items;
};

struct Pair
{
  int first, second;
};

#pragma omp declare mapper(struct Part p) map(p.n, p.items[0 : p.n])

int main(void)
{
  struct Part part = {4, malloc(4 * sizeof(int))};
  struct Pair pair = {1, 2};
  int list[10] = {0}, *some = list;
  struct Part *pointer = &part;
  for (int i = 0; i < 4; i++)
    part.items[i] = i;
#pragma omp target data map(tofrom : pointer[0 : 1]) map(tofrom : pointer->items[0 : 4])
  {
#pragma omp target map(tofrom : pointer->items[0 : 4])
    pointer->items[0]++;
#pragma omp target update to(pointer->items)
  }
#pragma omp target map(tofrom : part)
  part.items[1]++;
#pragma omp target data map(ompx_hold, tofrom : pair)
  {
#pragma omp target exit data map(delete : pair.first, pair.second)
  }
#pragma omp target enter data map(to : some[0 : 10])
#pragma omp target exit data map(from : some[2 : 3])
#pragma omp target data map(tofrom : list)
  {
#pragma omp target update to(list[0 : 0])
  }
  printf("%d %d\n", part.items[0], part.items[1]);
  free(part.items);
}
