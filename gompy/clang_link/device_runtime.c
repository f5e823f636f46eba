/* What flang's regions for CPUs call: the part of LLVM's runtime for GPUs that they use, over libomp.

   flang makes code for GPUs whatever the target is: a region begins with __kmpc_target_init, a parallel construct is a
   call of __kmpc_parallel_51 or _60, a loop a function of its number of iterations.  On a CPU a region has one team,
   and libomp's threads.  gompy's linker wrapper compiles this file by the clang of the link where an image asks for it.
   Interfaces: openmp/libomptarget/DeviceRTL of LLVM 19, offload/DeviceRTL of 22; kmp.h for libomp's.  All is weak: a
   program's own library goes before.  */

#include <stdint.h>

#define SHARED __attribute__ ((weak, visibility ("hidden")))

extern void __kmpc_fork_call (void *, int32_t, void (*) (int32_t *, int32_t *, ...), ...);
extern int32_t __kmpc_global_thread_num (void *);
extern void __kmpc_push_num_threads (void *, int32_t, int32_t);
extern void __kmpc_push_proc_bind (void *, int32_t, int32_t);
extern void __kmpc_serialized_parallel (void *, int32_t);
extern void __kmpc_end_serialized_parallel (void *, int32_t);
extern void __kmpc_barrier (void *, int32_t);
extern int omp_get_thread_num (void);
extern int omp_get_num_threads (void);
extern void *malloc (uintptr_t);
extern void free (void *);
extern void abort (void);

SHARED int32_t
__kmpc_target_init (void *environment, void *launch)
{
  (void) environment, (void) launch;
  return -1; /* This thread runs the region's code.  */
}

SHARED void
__kmpc_target_deinit (void)
{
}

SHARED void *
__kmpc_alloc_shared (uint64_t bytes)
{
  return malloc (bytes);
}

SHARED void
__kmpc_free_shared (void *memory, uint64_t bytes)
{
  (void) bytes;
  free (memory);
}

struct call
{
  void *function;
  void **arguments;
  int64_t count;
};

static void
call (int32_t *thread, int32_t *bound, const struct call *what)
{
  void **a = what->arguments;
  void *f = what->function;
  switch (what->count)
    {
    case 0: ((void (*) (int32_t *, int32_t *)) f) (thread, bound); break;
    case 1: ((void (*) (int32_t *, int32_t *, void *)) f) (thread, bound, a[0]); break;
    case 2: ((void (*) (int32_t *, int32_t *, void *, void *)) f) (thread, bound, a[0], a[1]); break;
    case 3: ((void (*) (int32_t *, int32_t *, void *, void *, void *)) f) (thread, bound, a[0], a[1], a[2]); break;
    default: abort (); /* flang passes one structure.  */
    }
}

static void
micro (int32_t *thread, int32_t *bound, ...)
{
  __builtin_va_list list;
  __builtin_va_start (list, bound);
  const struct call *what = __builtin_va_arg (list, const struct call *);
  __builtin_va_end (list);
  call (thread, bound, what);
}

SHARED void
__kmpc_parallel_51 (void *place, int32_t number, int32_t condition, int32_t threads, int32_t bind, void *function,
                    void *wrapper, void **arguments, int64_t count)
{
  struct call what = {function, arguments, count};
  int32_t self = __kmpc_global_thread_num (place), zero = 0;
  (void) number, (void) wrapper;
  if (!condition)
    {
      __kmpc_serialized_parallel (place, self);
      call (&self, &zero, &what);
      __kmpc_end_serialized_parallel (place, self);
      return;
    }
  if (threads > 0)
    __kmpc_push_num_threads (place, self, threads);
  if (bind > 1 && bind < 5) /* master, close, spread */
    __kmpc_push_proc_bind (place, self, bind);
  __kmpc_fork_call (place, 1, micro, &what);
}

SHARED void
__kmpc_parallel_60 (void *place, int32_t number, int32_t condition, int32_t threads, int32_t bind, void *function,
                    void *wrapper, void **arguments, int64_t count, int32_t strict)
{
  (void) strict;
  __kmpc_parallel_51 (place, number, condition, threads, bind, function, wrapper, arguments, count);
}

/* The iterations of this thread: blocks of `chunk', in turns; without a chunk a block for each.  */
#define LOOPS(suffix, type)                                                                                            \
  static void share_##suffix (void (*body) (type, void *), void *argument, type count, type chunk)                     \
  {                                                                                                                    \
    uint64_t threads = omp_get_num_threads (), self = omp_get_thread_num (), all = count > 0 ? count : 0;              \
    uint64_t each = chunk > 0 ? (uint64_t) chunk : all / threads + (all % threads != 0);                               \
    for (uint64_t first = self * each; each > 0 && first < all; first += each * threads)                               \
      for (uint64_t i = first; i < all && i < first + each; i++)                                                       \
        body ((type) i, argument);                                                                                     \
  }                                                                                                                    \
  SHARED void __kmpc_for_static_loop_##suffix (void *place, void (*body) (type, void *), void *argument, type count,   \
                                               type threads, type chunk)                                               \
  {                                                                                                                    \
    (void) threads;                                                                                                    \
    share_##suffix (body, argument, count, chunk);                                                                     \
    if (omp_get_num_threads () > 1)                                                                                    \
      __kmpc_barrier (place, __kmpc_global_thread_num (place));                                                        \
  }                                                                                                                    \
  SHARED void __kmpc_distribute_static_loop_##suffix (void *place, void (*body) (type, void *), void *argument,        \
                                                      type count, type block)                                          \
  {                                                                                                                    \
    (void) place, (void) block; /* There is one team.  */                                                              \
    for (type i = 0; i < count; i++)                                                                                   \
      body (i, argument);                                                                                              \
  }                                                                                                                    \
  SHARED void __kmpc_distribute_for_static_loop_##suffix (void *place, void (*body) (type, void *), void *argument,    \
                                                          type count, type threads, type block, type chunk)            \
  {                                                                                                                    \
    (void) place, (void) threads, (void) block;                                                                        \
    share_##suffix (body, argument, count, chunk);                                                                     \
  }

LOOPS (4, int32_t)
LOOPS (4u, uint32_t)
LOOPS (8, int64_t)
LOOPS (8u, uint64_t)
