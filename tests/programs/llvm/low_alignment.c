/* Members of a struct that is mapped as a whole, and begins at no multiple of 8.  */
#include <stdio.h>

struct Pair
{
  int first, second;
};

int main(void)
{
  _Alignas(8) struct
  {
    int before;
    struct Pair pair;
  } all = {1, {20, 30}};
#pragma omp target data map(tofrom : all.pair)
  {
#pragma omp target map(from : all.pair.first, all.pair.second)
    {
      all.pair.first = 21;
      all.pair.second = 31;
    }
  }
  printf("%d %d\n", all.pair.first, all.pair.second);
}
