/* check: race sum */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int sum = 0;
#pragma omp target map(tofrom: sum)
  {
    omp_lock_t lock[2];
    omp_init_lock(&lock[0]);
    omp_init_lock(&lock[1]);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 64; i++)
    {
      omp_set_lock(&lock[omp_get_thread_num() % 2]);
      sum += i;
      omp_unset_lock(&lock[omp_get_thread_num() % 2]);
    }
    omp_destroy_lock(&lock[0]);
    omp_destroy_lock(&lock[1]);
  }
  printf("%d\n", sum > 0);
  return 0;
}
