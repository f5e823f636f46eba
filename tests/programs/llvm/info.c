/* What LIBOMPTARGET_INFO tells of: kernels, copies, pointers in structs, own objects of regions, routines, what is left. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

struct List
{
  int n, *items;
};

#pragma omp begin declare target
int counter = 3;
#pragma omp end declare target

int main(void)
{
  int a[10] = {1}, b[20] = {2}, own[3] = {4}, large[400] = {5}, sum = 0;
  char text[9] = "eight...";
  struct List list = {4, b};
#pragma omp target map(tofrom : sum) firstprivate(own, text, large)
  sum += own[0] + text[1] + large[0] + counter++;
#pragma omp target data map(tofrom : a) map(to : list)
  {
#pragma omp target map(tofrom : list.items[0 : 5])
    list.items[2] = list.n + a[0];
#pragma omp target update from(a[2 : 3])
#pragma omp target update to(a)
    printf("%d %d\n", omp_target_is_present(a, 0), omp_get_mapped_ptr(&a[1], 0) != NULL);
  }
#pragma omp target teams distribute parallel for reduction(+ : sum) num_teams(3)
  for (int i = 0; i < 20; i++)
    sum += b[i];
  int *memory = omp_target_alloc(sizeof a, 0), host = omp_get_initial_device();
  omp_target_memcpy(memory, a, sizeof a, 0, 0, 0, host);
  omp_target_memcpy(b, memory, sizeof a, 4, 0, host, 0);
#pragma omp target is_device_ptr(memory)
  memory[0]++;
  omp_target_free(memory, 0);
#pragma omp target enter data map(to : b[3 : 4])
#pragma omp target update from(counter)
  printf("%d %d %d\n", sum, b[1], counter);
}
