/* What OpenACC's half of libgompy needs of C: thread-local data and the entry points with variable arguments, which
   hand the rest of their arguments on as a list that these files read word by word.  Included once, by
   libgompy.pyx.  */
#ifndef GOMPY_GOACC_H
#define GOMPY_GOACC_H

#include "core/support.h"

/* The thread's OpenACC data (a GoaccThread), made at its first OpenACC call.  */
static __thread void *gompy_acc_thread;

/* OpenACC's device list and thread list; callbacks of the profiling interface.  */
static gompy_lock_t gompy_acc_lock;  /* zeros: free */
static gompy_lock_t gompy_prof_lock;  /* zeros: free */
/* What the profiling interface has told of blocks with gaps.  */
static gompy_lock_t gompy_gapped_lock;  /* zeros: free */

typedef struct
{
  va_list list;
  const void *where;  /* the directive */
} gompy_words_t;

static inline int gompy_next_word (gompy_words_t *words) { return va_arg (words->list, int); }

static void gompy_acc_parallel (int flags, void (*fn) (void *), size_t mapnum, void **hostaddrs, size_t *sizes,
                                unsigned short *kinds, gompy_words_t *words);
static void gompy_acc_parallel_on_host (void (*fn) (void *), void **hostaddrs);
static void gompy_acc_update (int flags, size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds,
                              int async, int num_waits, gompy_words_t *words);
/* what: 0 enter data, 1 exit data, 2 whichever the kinds say */
static void gompy_acc_enter_exit (int what, int flags, size_t mapnum, void **hostaddrs, size_t *sizes,
                                  unsigned short *kinds, int async, int num_waits, gompy_words_t *words);
static void gompy_acc_wait_directive (int async, int num_waits, gompy_words_t *words);

GOMPY_EXPORT void
GOACC_parallel_keyed (int flags, void (*fn) (void *), size_t mapnum, void **hostaddrs, size_t *sizes,
                      unsigned short *kinds, ...)
{
  gompy_words_t words = { .where = (const char *) __builtin_return_address (0) - 1 };
  va_start (words.list, kinds);
  gompy_acc_parallel (flags, fn, mapnum, hostaddrs, sizes, kinds, &words);
  va_end (words.list);
}

GOMPY_EXPORT void
GOACC_parallel (int flags, void (*fn) (void *), size_t mapnum, void **hostaddrs, size_t *sizes,
                unsigned short *kinds, int gangs, int workers, int vector_length, int async, int num_waits, ...)
{
  (void) flags, (void) mapnum, (void) sizes, (void) kinds, (void) gangs, (void) workers;
  (void) vector_length, (void) async, (void) num_waits;
  gompy_acc_parallel_on_host (fn, hostaddrs);
}

#define GOMPY_DATA_DIRECTIVE(name, call, ...)                                                               \
  GOMPY_EXPORT void                                                                                         \
  name (int flags, size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds, int async,       \
        int num_waits, ...)                                                                                 \
  {                                                                                                         \
    gompy_words_t words = { .where = (const char *) __builtin_return_address (0) - 1 };                     \
    va_start (words.list, num_waits);                                                                       \
    call (__VA_ARGS__ flags, mapnum, hostaddrs, sizes, kinds, async, num_waits, &words);                    \
    va_end (words.list);                                                                                    \
  }

GOMPY_DATA_DIRECTIVE (GOACC_update, gompy_acc_update, )
GOMPY_DATA_DIRECTIVE (GOACC_enter_data, gompy_acc_enter_exit, 0,)
GOMPY_DATA_DIRECTIVE (GOACC_exit_data, gompy_acc_enter_exit, 1,)
GOMPY_DATA_DIRECTIVE (GOACC_enter_exit_data, gompy_acc_enter_exit, 2,)

GOMPY_EXPORT void
GOACC_wait (int async, int num_waits, ...)
{
  gompy_words_t words = { .where = (const char *) __builtin_return_address (0) - 1 };
  va_start (words.list, num_waits);
  gompy_acc_wait_directive (async, num_waits, &words);
  va_end (words.list);
}

#endif
