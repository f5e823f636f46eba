/* Part of programs and images that are made with -foffload-check: what GCC calls at each access to memory
   (-fsanitize=thread), and what stands in front of some functions of libgomp and of the C library (ld's --wrap).

   Names and signatures of the calls: GCC 12 to 16, gcc/sanitizer.def.  All of it is hidden: each program, library and
   image has its own.  */
#define _GNU_SOURCE /* dladdr1 */
#include "gompy/native/access.h"
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "gompy/access/atomic128.h"

extern struct gompy_access gompy_access __attribute__ ((weak, visibility ("default")));
extern char gompy_access_unordered[] __attribute__ ((weak, visibility ("default")));
extern __typeof__ (dladdr1) dladdr1 __attribute__ ((weak, visibility ("default")));

void __real_free (void *);
void *__real_memset (void *, int, size_t);

#define PC __builtin_return_address (0)
#define CONCERNS(p, n)                                                                                                 \
  (&gompy_access != NULL && (uintptr_t) (p) < gompy_access.high && (uintptr_t) (p) + (n) > gompy_access.low)

/* Bytes of the structure that the runtime has.  One that is older than the hooks has fewer members than access.h: what is
   behind them is something else.  0: there is none, or this part's constructor has not run.  */
static size_t structure;

#define HAS(member) (structure > offsetof (struct gompy_access, member))
#define OFFERS(member) (HAS (member) && gompy_access.member != NULL)

static inline void
on_read (const volatile void *p, size_t n, const void *pc)
{
  if (__builtin_expect (CONCERNS (p, n), 0))
    gompy_access.read ((uintptr_t) p, n, pc);
}

static inline void
on_write (const volatile void *p, size_t n, const void *pc)
{
  if (__builtin_expect (CONCERNS (p, n), 0))
    gompy_access.write ((uintptr_t) p, n, pc);
}

static inline void
on_release (void)
{
  if (&gompy_access != NULL && gompy_access.release != NULL)
    gompy_access.release ();
}

static inline void
on_pause (void)
{
  if (OFFERS (pause))
    gompy_access.pause ();
}

/* What its symbol says; who is linked statically has the runtime that the hooks came with.  */
static size_t
size_of_structure (void)
{
  Dl_info info;
  const ElfW (Sym) *symbol = NULL;
  if (dladdr1 == NULL || dladdr1 (&gompy_access, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0
      || info.dli_saddr != (void *) &gompy_access || symbol == NULL || symbol->st_size == 0)
    return sizeof gompy_access;
  return symbol->st_size;
}

static __attribute__ ((constructor)) void
begin (void)
{
  if (&gompy_access == NULL)
    return;
  structure = size_of_structure ();
  gompy_access.hooked |= GOMPY_HOOKED;
  if (gompy_access_unordered != NULL)
    gompy_access.unordered = 1;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */

#define ACCESS(size)                                                                                                   \
  void __tsan_read##size (void *p) { on_read (p, size, PC); }                                                          \
  void __tsan_write##size (void *p) { on_write (p, size, PC); }                                                        \
  void __tsan_volatile_read##size (void *p) { on_pause (); on_read (p, size, PC); }                                    \
  void __tsan_volatile_write##size (void *p) { on_pause (); on_write (p, size, PC); }                                  \
  void __tsan_unaligned_read##size (void *p) { on_read (p, size, PC); }                                                \
  void __tsan_unaligned_write##size (void *p) { on_write (p, size, PC); }
ACCESS (1)
ACCESS (2)
ACCESS (4)
ACCESS (8)
ACCESS (16)

void __tsan_read_range (void *p, size_t n) { on_read (p, n, PC); }
void __tsan_write_range (void *p, size_t n) { on_write (p, n, PC); }
void __tsan_vptr_update (void *p, void *value) { (void) value; on_write (p, sizeof (void *), PC); }
void __tsan_vptr_read (void *p) { on_read (p, sizeof (void *), PC); }
void __tsan_func_entry (void *caller) { (void) caller; }
void __tsan_func_exit (void) {}
void __tsan_init (void) {}

/* --- accesses of a loop (loops.cc) -------------------------------------------------------------------------------- */

/* Whether any of N accesses at P, P + STEP, ... is in the device's memory.  */
static inline int
is_of_interest (void *p, long step, unsigned long n, int kind)
{
  uintptr_t low = (uintptr_t) p, high = low;
  if (n == 0 || &gompy_access == NULL)
    return 0;
  *(step < 0 ? &low : &high) += (uintptr_t) step * (n - 1);
  return __builtin_expect (low < gompy_access.high && high + (kind & GOMPY_RANGE_SIZE) > gompy_access.low, 0);
}

/* All of an access in a loop, before that.  OK: what was answered for the one before.  */
int
gompy_access_range (void *p, long step, unsigned long n, int kind, int ok)
{
  if (!ok || !is_of_interest (p, step, n, kind))
    return ok;
  return gompy_access.range != NULL && gompy_access.range ((uintptr_t) p, step, n, kind, PC);
}

/* All spans of a row of statements (loops_straight.h), before that.  0: each is to be asked about.  */
int
gompy_access_row (unsigned long kinds, void *a, void *b, void *c, void *d)
{
  if (!OFFERS (row))
    return 0;
  return gompy_access.row (kinds, (uintptr_t) a, (uintptr_t) b, (uintptr_t) c, (uintptr_t) d, PC);
}

/* What compiled code adds to a thread's pointer, and finds that to the thread's steps there (loops_steps.h).  0: it
   calls.  It is known to nobody before the first call: the runtime has it as late as that, too.  */
extern intptr_t gompy_access_steps __attribute__ ((visibility ("hidden")));
intptr_t gompy_access_steps;

static inline void
find_steps (void)
{
  if (HAS (steps) && gompy_access_steps == 0)
    __atomic_store_n (&gompy_access_steps, gompy_access.steps, __ATOMIC_RELAXED);
}

/* The spans of a row at a site, where they are not all steps forwards.  */
int
gompy_access_row_at (unsigned long kinds, void *a, void *b, void *c, void *d, const unsigned char *site)
{
  const uintptr_t at[GOMPY_STEPS] = { (uintptr_t) a, (uintptr_t) b, (uintptr_t) c, (uintptr_t) d };
  if (!OFFERS (row_at))
    return 0;
  find_steps ();
  return gompy_access.row_at (kinds, at, site, PC);
}

/* An access of a site, where it is no step forwards.  */
void
gompy_access_one (void *p, int kind, const unsigned char *site)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  if (__builtin_expect (!CONCERNS (p, size), 1))
    return;
  find_steps ();
  if (OFFERS (one))
    gompy_access.one ((uintptr_t) p, kind, site, PC);
  else
    (kind & GOMPY_RANGE_WRITES ? gompy_access.write : gompy_access.read) ((uintptr_t) p, size, PC);
}

/* All of a loop's accesses at P + SCALE * index; the indices are at FIRST, FIRST + STEP, ..., and were asked about.  */
int
gompy_access_gather (void *p, long scale, const void *first, long step, unsigned long n, int kind, int ok)
{
  struct gompy_indices indices = { first, step, n, GOMPY_INDEX_BYTES (kind), (kind & GOMPY_INDEX_UNSIGNED) != 0 };
  if (!ok || n == 0 || &gompy_access == NULL || gompy_access.high <= gompy_access.low)
    return ok;
  return OFFERS (gather) && gompy_access.gather ((uintptr_t) p, scale, &indices, kind, PC);
}

/* --- accesses of a loop that are told after it -------------------------------------------------------------------- */

#define MOST_TAKEN (64ul << 20)

static __thread char *taken;
static __thread size_t taken_size;
static pthread_key_t taken_key;
static pthread_once_t taken_once = PTHREAD_ONCE_INIT;

static void
make_taken_key (void)
{
  pthread_key_create (&taken_key, free);
}

/* Whether any of the accesses at P, P + STEP, ... may happen without a call.  */
int
gompy_access_ahead (void *p, long step, unsigned long n, int kind, int ok)
{
  if (!ok || !is_of_interest (p, step, n, kind))
    return ok;
  return OFFERS (ahead) && gompy_access.ahead ((uintptr_t) p, step, n, kind);
}

/* N bytes, all of them 0, where the thread's loop notes what it does; gompy_access_clear has them so again.
   NULL: there is no room, or the loop is not to run so.  */
void *
gompy_access_taken (unsigned long n, int ok)
{
  if (!ok || n > MOST_TAKEN)
    return NULL;
  if (n <= taken_size)
    return taken;
  pthread_once (&taken_once, make_taken_key);
  __real_free (taken);
  taken = calloc (1, n);
  taken_size = taken != NULL ? n : 0;
  pthread_setspecific (taken_key, taken);
  return taken;
}

void
gompy_access_clear (void *p, unsigned long n)
{
  __real_memset (p, 0, n);
}

/* Accesses that have happened.  */
static void
happened (uintptr_t p, long step, unsigned long n, int kind, const void *pc)
{
  size_t size = kind & GOMPY_RANGE_SIZE;
  if (n > 2 && gompy_access.range != NULL && gompy_access.range (p, step, n, kind, pc))
    return;
  for (unsigned long i = 0; i < n; i++, p += (uintptr_t) step)
    if (kind & GOMPY_RANGE_WRITES)
      on_write ((void *) p, size, pc);
    else
      on_read ((void *) p, size, pc);
}

/* Those accesses have happened whose byte is not 0.  */
void
gompy_access_some (void *p, long step, unsigned long n, int kind, const unsigned char *which)
{
  if (is_of_interest (p, step, n, kind) && OFFERS (some))
    gompy_access.some ((uintptr_t) p, step, n, kind, which, PC);
}

/* The first N accesses have.  */
void
gompy_access_done (void *p, long step, unsigned long n, int kind)
{
  if (is_of_interest (p, step, n, kind))
    happened ((uintptr_t) p, step, n, kind, PC);
}

/* Whether what a loop writes at P, P + STEP, ... is none of the indices that it reads at Q, Q + OTHER, ...  Neither
   has more than SIZE bytes at a time.  */
int
gompy_access_apart (void *p, long step, void *q, long other, unsigned long n, int size, int ok)
{
  uintptr_t low = (uintptr_t) p, high = low, first = (uintptr_t) q, last = first;
  if (!ok || n == 0)
    return ok;
  *(step < 0 ? &low : &high) += (uintptr_t) step * (n - 1);
  *(other < 0 ? &first : &last) += (uintptr_t) other * (n - 1);
  return low >= last + (unsigned) size || first >= high + (unsigned) size;
}

/* --- nests of loops (loops_rows.h) --------------------------------------------------------------------------------- */

#define ASCENDS(name, type)                                                                                            \
  static __attribute__ ((optimize ("O3"))) int                                                                         \
  name (const type *x, unsigned long n)                                                                                \
  {                                                                                                                    \
    for (unsigned long i = 0, end; i < n; i = end)                                                                     \
      {                                                                                                                \
        type less = 0;                                                                                                 \
        end = n - i < AT_ONCE ? n : i + AT_ONCE;                                                                       \
        for (unsigned long k = i; k < end; k++)                                                                        \
          less |= x[k + 1] < x[k];                                                                                     \
        if (less)                                                                                                      \
          return 0;                                                                                                    \
      }                                                                                                                \
    return x[0] >= 0;                                                                                                  \
  }
#define AT_ONCE 4096ul
ASCENDS (ints_ascend, int32_t)
ASCENDS (longs_ascend, int64_t)

/* Whether N + 1 numbers at FIRST, of 4 or 8 bytes, do not decrease, and none of them is negative.  They were asked
   about: the loop reads all of them.  */
int
gompy_access_rows (const void *first, unsigned long n, int bytes, int ok)
{
  if (!ok || n == 0)
    return ok;
  return bytes == 4 ? ints_ascend (first, n) : longs_ascend (first, n);
}

/* The number AT of these.  */
unsigned long
gompy_access_bound (const void *first, unsigned long at, unsigned long n, int bytes, int ok)
{
  if (!ok || n == 0)
    return 0;
  return bytes == 4 ? (unsigned long) ((const int32_t *) first)[at] : (unsigned long) ((const int64_t *) first)[at];
}

/* --- atomic operations -------------------------------------------------------------------------------------------- */

/* Orders from __ATOMIC_RELEASE on are those by which others may come to know of what was done before.  By what it reads
   the thread may come to know of others; an update that orders nothing is taken for a count.  */
static inline void
on_atomic (const volatile void *p, size_t n, int writes, int order, const void *pc)
{
  if (writes == 0 || (order & 0xffff) != __ATOMIC_RELAXED)
    on_pause ();
  if (writes && (order & 0xffff) >= __ATOMIC_RELEASE)
    on_release ();
  if (__builtin_expect (CONCERNS (p, n), 0))
    gompy_access.atomic ((uintptr_t) p, n, writes, pc);
}

/* One that may read only, in an order of its own then.  */
static inline void
on_exchange (const volatile void *p, size_t n, int order, int failed, const void *pc)
{
  if ((failed & 0xffff) != __ATOMIC_RELAXED)
    on_pause ();
  on_atomic (p, n, 1, order, pc);
}

/* How operations are done, by a prefix.  All are sequentially consistent.  */
#define DO_LOAD(p) __atomic_load_n (p, __ATOMIC_SEQ_CST)
#define DO_STORE(p, v) __atomic_store_n (p, v, __ATOMIC_SEQ_CST)
#define DO_EXCHANGE(p, v) __atomic_exchange_n (p, v, __ATOMIC_SEQ_CST)
#define DO_FETCH(name, p, v) __atomic_fetch_##name (p, v, __ATOMIC_SEQ_CST)
#define DO_COMPARE(p, old, v, weak) __atomic_compare_exchange_n (p, old, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define FETCH(bits, type, name, how)                                                                                   \
  type __tsan_atomic##bits##_fetch_##name (volatile type *p, type v, int order)                                        \
  {                                                                                                                    \
    on_atomic (p, sizeof (type), 1, order, PC);                                                                        \
    return how##_FETCH (name, p, v);                                                                                   \
  }
#define ATOMIC(bits, type, how)                                                                                        \
  type __tsan_atomic##bits##_load (const volatile type *p, int order)                                                  \
  {                                                                                                                    \
    on_atomic (p, sizeof (type), 0, order, PC);                                                                        \
    return how##_LOAD (p);                                                                                             \
  }                                                                                                                    \
  void __tsan_atomic##bits##_store (volatile type *p, type v, int order)                                               \
  {                                                                                                                    \
    on_atomic (p, sizeof (type), 2, order, PC);                                                                        \
    how##_STORE (p, v);                                                                                                \
  }                                                                                                                    \
  type __tsan_atomic##bits##_exchange (volatile type *p, type v, int order)                                            \
  {                                                                                                                    \
    on_atomic (p, sizeof (type), 1, order, PC);                                                                        \
    return how##_EXCHANGE (p, v);                                                                                      \
  }                                                                                                                    \
  FETCH (bits, type, add, how)                                                                                         \
  FETCH (bits, type, sub, how)                                                                                         \
  FETCH (bits, type, and, how)                                                                                         \
  FETCH (bits, type, or, how)                                                                                          \
  FETCH (bits, type, xor, how)                                                                                         \
  FETCH (bits, type, nand, how)                                                                                        \
  bool __tsan_atomic##bits##_compare_exchange_strong (volatile type *p, type *old, type v, int order, int failed)      \
  {                                                                                                                    \
    on_exchange (p, sizeof (type), order, failed, PC);                                                                 \
    return how##_COMPARE (p, old, v, 0);                                                                               \
  }                                                                                                                    \
  bool __tsan_atomic##bits##_compare_exchange_weak (volatile type *p, type *old, type v, int order, int failed)        \
  {                                                                                                                    \
    on_exchange (p, sizeof (type), order, failed, PC);                                                                 \
    return how##_COMPARE (p, old, v, 1);                                                                               \
  }                                                                                                                    \
  type __tsan_atomic##bits##_compare_exchange_val (volatile type *p, type old, type v, int order, int failed)          \
  {                                                                                                                    \
    on_exchange (p, sizeof (type), order, failed, PC);                                                                 \
    how##_COMPARE (p, &old, v, 0);                                                                                     \
    return old;                                                                                                        \
  }
ATOMIC (8, uint8_t, DO)
ATOMIC (16, uint16_t, DO)
ATOMIC (32, uint32_t, DO)
ATOMIC (64, uint64_t, DO)
ATOMIC (128, uint128_t, DO128)

void
__tsan_atomic_thread_fence (int order)
{
  on_pause ();
  if (order >= __ATOMIC_RELEASE)
    on_release ();
  __atomic_thread_fence (__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence (int order) { (void) order; __atomic_signal_fence (__ATOMIC_SEQ_CST); }

/* --- the C library ------------------------------------------------------------------------------------------------ */

void *__real_memcpy (void *, const void *, size_t);
void *__real_memmove (void *, const void *, size_t);

void *
__wrap_memcpy (void *to, const void *from, size_t n)
{
  on_read (from, n, PC);
  on_write (to, n, PC);
  return __real_memcpy (to, from, n);
}

void *
__wrap_memmove (void *to, const void *from, size_t n)
{
  on_read (from, n, PC);
  on_write (to, n, PC);
  return __real_memmove (to, from, n);
}

void *
__wrap_memset (void *to, int c, size_t n)
{
  on_write (to, n, PC);
  return __real_memset (to, c, n);
}

void *__real_realloc (void *, size_t);
void __real__ZdlPv (void *) __attribute__ ((weak));
void __real__ZdlPvm (void *, size_t) __attribute__ ((weak));
void __real__ZdaPv (void *) __attribute__ ((weak));
void __real__ZdaPvm (void *, size_t) __attribute__ ((weak));

static inline void
on_free (void *p)
{
  if (p != NULL && &gompy_access != NULL && gompy_access.freed != NULL
      && (uintptr_t) p < gompy_access.high && (uintptr_t) p + malloc_usable_size (p) > gompy_access.low)
    gompy_access.freed ((uintptr_t) p, malloc_usable_size (p));
}

void __wrap_free (void *p) { on_free (p); __real_free (p); }
void *__wrap_realloc (void *p, size_t n) { on_free (p); return __real_realloc (p, n); }
void __wrap__ZdlPv (void *p) { on_free (p); __real__ZdlPv (p); }
void __wrap__ZdlPvm (void *p, size_t n) { on_free (p); __real__ZdlPvm (p, n); }
void __wrap__ZdaPv (void *p) { on_free (p); __real__ZdaPv (p); }
void __wrap__ZdaPvm (void *p, size_t n) { on_free (p); __real__ZdaPvm (p, n); }

/* --- libgomp: threads of a region --------------------------------------------------------------------------------- */

#define THREADS (&gompy_access != NULL && gompy_access.fork != NULL && gompy_access.low < gompy_access.high)

/* Of what libgompy has, too: a library's references to that have no version, so ld looks for these functions in the
   program that is linked with it, and takes no hidden ones.  */
#define SEEN __attribute__ ((visibility ("protected")))

struct start
{
  void *first;  /* as in the data itself: libgomp looks for task reductions there */
  void (*function) (void *);
  void *data;
  void *group;
};

static void
started (void *p)
{
  struct start *s = p;
  struct gompy_place before;
  gompy_access.enter (s->group, &before);
  s->function (s->data);
  gompy_access.leave (&before);
}

#define PARALLEL_OF(result, name, parameters, arguments, keep, give, word)                                             \
  result __real_##name parameters;                                                                                     \
  SEEN result __wrap_##name parameters                                                                                 \
  {                                                                                                                    \
    struct start s = { NULL, function, data, NULL };                                                                   \
    if (THREADS)                                                                                                       \
      {                                                                                                                \
        s.first = word;                                                                                                \
        s.group = gompy_access.fork ();                                                                                \
        function = started;                                                                                            \
        data = &s;                                                                                                     \
      }                                                                                                                \
    keep __real_##name arguments;                                                                                      \
    if (s.group != NULL)                                                                                               \
      gompy_access.join (s.group);                                                                                     \
    give;                                                                                                              \
  }
#define PARALLEL(result, name, parameters, arguments)                                                                  \
  PARALLEL_OF (result, name, parameters, arguments, , , NULL)
#define LOOP(name)                                                                                                     \
  PARALLEL (void, GOMP_parallel_loop_##name,                                                                           \
            (void (*function) (void *), void *data, unsigned n, long start, long end, long step, long chunk,           \
             unsigned flags),                                                                                          \
            (function, data, n, start, end, step, chunk, flags))
#define RUNTIME_LOOP(name)                                                                                             \
  PARALLEL (void, GOMP_parallel_loop_##name,                                                                           \
            (void (*function) (void *), void *data, unsigned n, long start, long end, long step, unsigned flags),      \
            (function, data, n, start, end, step, flags))
PARALLEL (void, GOMP_parallel, (void (*function) (void *), void *data, unsigned n, unsigned flags),
          (function, data, n, flags))
PARALLEL_OF (unsigned, GOMP_parallel_reductions, (void (*function) (void *), void *data, unsigned n, unsigned flags),
             (function, data, n, flags), unsigned result =, return result, *(void **) data)
PARALLEL (void, GOMP_parallel_sections,
          (void (*function) (void *), void *data, unsigned n, unsigned count, unsigned flags),
          (function, data, n, count, flags))
LOOP (static)
LOOP (dynamic)
LOOP (guided)
LOOP (nonmonotonic_dynamic)
LOOP (nonmonotonic_guided)
RUNTIME_LOOP (runtime)
RUNTIME_LOOP (nonmonotonic_runtime)
RUNTIME_LOOP (maybe_nonmonotonic_runtime)

static inline void
passed (void)
{
  if (&gompy_access != NULL && gompy_access.barrier != NULL)
    gompy_access.barrier ();
}

#define BARRIER(name)                                                                                                  \
  void __real_##name (void);                                                                                           \
  SEEN void __wrap_##name (void) { on_pause (); __real_##name (); passed (); }
#define CANCELLED(name)                                                                                                \
  bool __real_##name (void);                                                                                           \
  SEEN bool __wrap_##name (void)                                                                                       \
  {                                                                                                                    \
    on_pause ();                                                                                                       \
    bool result = __real_##name ();                                                                                    \
    passed ();                                                                                                         \
    return result;                                                                                                     \
  }
BARRIER (GOMP_barrier)
BARRIER (GOMP_loop_end)
BARRIER (GOMP_sections_end)
CANCELLED (GOMP_barrier_cancel)
CANCELLED (GOMP_loop_end_cancel)
CANCELLED (GOMP_sections_end_cancel)

void *__real_GOMP_single_copy_start (void);
void __real_GOMP_single_copy_end (void *);

/* The thread that has the block passes its barrier at the block's end.  */
SEEN void *
__wrap_GOMP_single_copy_start (void)
{
  on_pause ();
  void *data = __real_GOMP_single_copy_start ();
  if (data != NULL)
    passed ();
  return data;
}

SEEN void
__wrap_GOMP_single_copy_end (void *data)
{
  on_pause ();
  __real_GOMP_single_copy_end (data);
  passed ();
}

/* Names of locks that all images of a process share.  */
#define CRITICAL ((void *) 1)
#define ATOMIC_LOCK ((void *) 2)
#define ORDERED ((void *) 3)

/* A runtime without `take` and `give` judges nothing by what a thread does while it holds any lock.  */
static inline void
taken_lock (const void *lock)
{
  if (OFFERS (take))
    gompy_access.take (lock);
  else if (!HAS (take) && OFFERS (hold))
    gompy_access.hold (1);
}

static inline void
giving_lock (const void *lock)
{
  if (OFFERS (give))
    gompy_access.give (lock);
  else if (!HAS (give) && OFFERS (hold))
    {
      gompy_access.hold (-1);
      on_release ();
    }
}

#define LOCKED(begin, end, parameters, arguments, lock)                                                                \
  void __real_##begin parameters;                                                                                      \
  void __real_##end parameters;                                                                                        \
  void __wrap_##begin parameters { __real_##begin arguments; taken_lock (lock); }                                      \
  void __wrap_##end parameters { giving_lock (lock); __real_##end arguments; }
LOCKED (GOMP_critical_start, GOMP_critical_end, (void), (), CRITICAL)
LOCKED (GOMP_critical_name_start, GOMP_critical_name_end, (void **lock), (lock), lock)
LOCKED (GOMP_atomic_start, GOMP_atomic_end, (void), (), ATOMIC_LOCK)
LOCKED (GOMP_ordered_start, GOMP_ordered_end, (void), (), ORDERED)
LOCKED (omp_set_lock, omp_unset_lock, (void *lock), (lock), lock)
LOCKED (omp_set_nest_lock, omp_unset_nest_lock, (void *lock), (lock), lock)

#define TRIED(name)                                                                                                    \
  int __real_##name (void *lock);                                                                                      \
  int __wrap_##name (void *lock)                                                                                       \
  {                                                                                                                    \
    int got = __real_##name (lock);                                                                                    \
    if (got)                                                                                                           \
      taken_lock (lock);                                                                                               \
    return got;                                                                                                        \
  }
TRIED (omp_test_lock)
TRIED (omp_test_nest_lock)
