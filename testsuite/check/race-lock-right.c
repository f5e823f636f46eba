/* check: right */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int sum = 0;
#pragma omp target map(tofrom: sum)
  {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 64; i++)
    {
      omp_set_lock(&lock);
      sum += i;
      omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
  }
  printf("%d\n", sum > 0);
  return 0;
}
