/* check: right */
#include <omp.h>
#include <stdio.h>

/* What a thread fills with one lock held, another one takes over by that lock, and changes with another lock held.  */
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
