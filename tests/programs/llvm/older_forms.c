/* The entry points that clang 5 to 15 called.  This program's own definitions take what clang 16 calls, and hand it on
   in each of the older forms in turn.  LLVM's library has these call the newer ones: then it is to be its own.  */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#define MAPS int n, void **bases, void **begins, int64_t *sizes, int64_t *types
#define GIVEN n, bases, begins, sizes, types
#define NAMES void **names, void **mappers
#define DEPS int deps, void *list, int more, void *more_list
#define NONE 0, 0, 0, 0

struct args
{
  uint32_t version, count;
  void **bases, **begins;
  int64_t *sizes, *types;
  void **names, **mappers;
};

int __tgt_target (int64_t, void *, MAPS);
int __tgt_target_nowait (int64_t, void *, MAPS, DEPS);
int __tgt_target_mapper (void *, int64_t, void *, MAPS, NAMES);
int __tgt_target_nowait_mapper (void *, int64_t, void *, MAPS, NAMES, DEPS);
int __tgt_target_teams (int64_t, void *, MAPS, int, int);
int __tgt_target_teams_nowait (int64_t, void *, MAPS, int, int, DEPS);
int __tgt_target_teams_mapper (void *, int64_t, void *, MAPS, NAMES, int, int);
int __tgt_target_teams_nowait_mapper (void *, int64_t, void *, MAPS, NAMES, int, int, DEPS);
void __kmpc_push_target_tripcount (int64_t, uint64_t);
void __kmpc_push_target_tripcount_mapper (void *, int64_t, uint64_t);

static int form, calls, within;

static int
older_kernel (void *where, int64_t device, void *region, struct args *a)
{
  int n = a->count;
  void **bases = a->bases, **begins = a->begins;
  int64_t *sizes = a->sizes, *types = a->types;
  __kmpc_push_target_tripcount (device, 4);
  __kmpc_push_target_tripcount_mapper (where, device, 4);
  switch (form)
    {
    case 0: return __tgt_target (device, region, GIVEN);
    case 1: return __tgt_target_nowait (device, region, GIVEN, NONE);
    case 2: return __tgt_target_mapper (where, device, region, GIVEN, a->names, a->mappers);
    case 3: return __tgt_target_nowait_mapper (where, device, region, GIVEN, a->names, a->mappers, NONE);
    case 4: return __tgt_target_teams (device, region, GIVEN, 1, 0);
    case 5: return __tgt_target_teams_nowait (device, region, GIVEN, 1, 0, NONE);
    case 6: return __tgt_target_teams_mapper (where, device, region, GIVEN, a->names, a->mappers, 1, 0);
    default: return __tgt_target_teams_nowait_mapper (where, device, region, GIVEN, a->names, a->mappers, 1, 0, NONE);
    }
}

int
__tgt_target_kernel (void *where, int64_t device, int teams, int threads, void *region, struct args *a)
{
  int (*own) (void *, int64_t, int, int, void *, struct args *) = dlsym (RTLD_NEXT, "__tgt_target_kernel");
  int rc;
  if (within)
    return own (where, device, teams, threads, region, a);
  within = 1, calls++;
  rc = older_kernel (where, device, region, a);
  within = 0;
  return rc;
}

#define DATA(what)                                                                                                    \
  void __tgt_target_data_##what (int64_t, MAPS);                                                                      \
  void __tgt_target_data_##what##_nowait (int64_t, MAPS, DEPS);                                                       \
  void __tgt_target_data_##what##_nowait_mapper (void *, int64_t, MAPS, NAMES, DEPS);                                 \
  void __tgt_target_data_##what##_mapper (void *where, int64_t device, MAPS, NAMES)                                   \
  {                                                                                                                   \
    void (*own) (void *, int64_t, MAPS, NAMES) = dlsym (RTLD_NEXT, "__tgt_target_data_" #what "_mapper");             \
    if (within)                                                                                                       \
      {                                                                                                               \
        own (where, device, GIVEN, names, mappers);                                                                   \
        return;                                                                                                       \
      }                                                                                                               \
    within = 1, calls++;                                                                                              \
    if (form % 3 == 0)                                                                                                \
      __tgt_target_data_##what (device, GIVEN);                                                                       \
    else if (form % 3 == 1)                                                                                           \
      __tgt_target_data_##what##_nowait (device, GIVEN, NONE);                                                        \
    else                                                                                                              \
      __tgt_target_data_##what##_nowait_mapper (where, device, GIVEN, names, mappers, NONE);                          \
    within = 0;                                                                                                       \
  }
DATA (begin)
DATA (end)
DATA (update)

int
main (void)
{
  int a[4] = {1, 2, 3, 4};
  for (form = 0; form < 8; form++)
    {
      #pragma omp target data map(tofrom: a)
      {
        a[1] = 10 * form;
        #pragma omp target update to(a[1])
        #pragma omp target map(tofrom: a)
        a[0] += a[1], a[2] = form;
        #pragma omp target update from(a[0])
        a[3] = a[0];
      }
      printf ("%d %d %d %d\n", a[0], a[1], a[2], a[3]);
    }
  printf ("%d calls\n", calls);
}
