/* Map types of clang 22, in calls as it makes them: a pointer is attached when all of its construct is mapped.  */
#include <stdint.h>
#include <stdio.h>

enum { TO = 1, FROM = 2, ALWAYS = 4, ATTACH = 0x4000 };
void __tgt_target_data_begin_mapper(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);
void __tgt_target_data_end_mapper(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);

struct Holder
{
  int n, *items;
} holder;

static int seen(void)
{
  int found;
#pragma omp target map(from : found) map(alloc : holder)
  found = holder.items[1];
  return found;
}

static void begin(int *items, int64_t type)
{
  void *bases[] = {&holder, items, &holder.items}, *begins[] = {&holder, items, items};
  int64_t sizes[] = {sizeof holder, 4 * sizeof *items, sizeof(void *)}, types[] = {TO, TO, type};
  holder.items = items;
  __tgt_target_data_begin_mapper(0, -1, 3, bases, begins, sizes, types, 0, 0);
}

static void end(int *items)
{
  void *bases[] = {&holder, items, &holder.items}, *begins[] = {&holder, items, items};
  int64_t sizes[] = {sizeof holder, 4 * sizeof *items, sizeof(void *)}, types[] = {FROM, FROM, ATTACH};
  __tgt_target_data_end_mapper(0, -1, 3, bases, begins, sizes, types, 0, 0);
}

int main(void)
{
  int one[4] = {10, 11, 12, 13}, two[4] = {20, 21, 22, 23};
  begin(one, ATTACH); /* both are new */
  printf("%d", seen());
  begin(two, ATTACH); /* what it points to is new */
  printf(" %d", seen());
  begin(one, ATTACH); /* neither is new */
  printf(" %d", seen());
  begin(one, ATTACH | ALWAYS);
  printf(" %d\n", seen());
  end(one);
  end(one);
  end(one);
  end(two);
  printf("%d %d\n", holder.items == one, holder.n);
}
