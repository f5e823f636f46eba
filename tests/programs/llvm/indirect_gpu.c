/* A region on a GPU calls functions by pointers that it finds in memory: clang's runtime looks each up.  */
#include <stdio.h>

#pragma omp begin declare variant match(device = {kind (gpu)})
void *__llvm_omp_indirect_call_lookup (void *host);
#pragma omp declare target to(__llvm_omp_indirect_call_lookup) device_type(nohost)
#pragma omp end declare variant
#pragma omp begin declare variant match(device = {kind (cpu)})
void *__llvm_omp_indirect_call_lookup (void *host) { return host; }
#pragma omp end declare variant

typedef int (*function) (int);

#pragma omp begin declare target indirect
int add (int x) { return x + 1; }
int twice (int x) { return x * 2; }
int negative (int x) { return -x; }
#pragma omp end declare target

int main (void)
{
  int results[4];
  function table[4] = {twice, negative, add, twice};
  #pragma omp target teams distribute parallel for map(to: table) map(from: results)
  for (int i = 0; i < 4; i++)
    results[i] = ((function) __llvm_omp_indirect_call_lookup ((void *) table[i])) (10 + i);
  printf ("%d %d %d %d\n", results[0], results[1], results[2], results[3]);
}
