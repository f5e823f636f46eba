// check: right
#include <cstdio>
#pragma omp declare target
static int table[16];
static int square(int i) { return i * i; }
#pragma omp end declare target

int main()
{
  for (int i = 0; i < 16; i++) table[i] = i;
#pragma omp target update to(table)
#pragma omp target
  for (int i = 0; i < 16; i++) table[i] = square(table[i]);
#pragma omp target update from(table)
  std::printf("%d\n", table[15]);
}
