/* requires unified_shared_memory: the heap, a variable, `close`, a struct's pointer, routines.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp requires unified_shared_memory

struct List
{
  int n, *items;
};

#pragma omp begin declare target
int total = 1;
#pragma omp end declare target

int main(void)
{
  int *heap = malloc(4 * sizeof *heap), copied = 1, on_device = 0, seen = 0;
  struct List list = {2, heap};
  heap[0] = heap[1] = heap[2] = heap[3] = 5;
#pragma omp target map(from : on_device)
  {
    on_device = !omp_is_initial_device();
    heap[0] = 6;
    total += 10;
#pragma omp parallel num_threads(2)
    heap[2 + omp_get_thread_num()]++;
  }
  printf("%d %d %d %d %d\n", on_device, heap[0], heap[2], heap[3], total);
#pragma omp target map(close, to : copied) map(from : seen)
  seen = ++copied;
  printf("%d %d\n", copied, seen);
#pragma omp target map(tofrom : list, list.items[0 : 2])
  list.items[1] = list.n;
  printf("%d %d\n", heap[1], list.items == heap);
#pragma omp target enter data map(close, to : heap[0 : 4])
  printf("%d", omp_target_is_present(heap, 0));
  heap[0] = 7;
#pragma omp target map(from : seen)
  seen = heap[0];
  printf(" %d", seen);
#pragma omp target update to(heap[0 : 4])
#pragma omp target map(from : seen)
  seen = heap[0];
#pragma omp target exit data map(release : heap[0 : 4])
  printf(" %d %d\n", seen, omp_target_is_present(heap, 0));
  free(heap);
}
