/* check: race item */
#include <omp.h>
#include <stdio.h>

/* As race-handed-right.c, but some of it is changed before the lock is taken, and not by who took it over.  */
int main(void)
{
  int item[64] = {0}, last = 0, sum = 0, full = 0;
#pragma omp target map(tofrom: item, full, last, sum)
  {
    omp_lock_t queue, work;
    omp_init_lock(&queue);
    omp_init_lock(&work);
#pragma omp parallel num_threads(4)
    for (int i = omp_get_thread_num(); i < 64; i += 4)
    {
      int mine = -1;
      omp_set_lock(&queue);
      item[full++] = i;
      if (full > last + 1) mine = last++;
      omp_unset_lock(&queue);
      if (mine < 0) continue;
      item[0] += 1;
      omp_set_lock(&work);
      item[mine] *= 2;
      sum += item[mine];
      omp_unset_lock(&work);
    }
    omp_destroy_lock(&queue);
    omp_destroy_lock(&work);
  }
  printf("%d\n", sum > 0);
  return 0;
}
