/* The half of a program that clang compiles: what it maps, gcc's regions find.  */
#include <omp.h>
#include <stdio.h>

int shared[4] = {1, 2, 3, 4};
int gcc_region(int *numbers);

int main(void)
{
  int there;
#pragma omp target data map(tofrom : shared)
  {
#pragma omp target
    shared[1] = 50;
    there = gcc_region(shared);
    printf("%d %d %d\n", shared[0], shared[1], there);
  }
  printf("%d %d\n", shared[0], shared[1]);
  printf("%d %d\n", omp_target_is_present(shared, 0), omp_get_num_devices());
  return 0;
}
