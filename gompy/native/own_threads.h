/* Threads of the emulated GPU's own: whether all of them sleep.

   `gompy run --check` watches the program while no other thread of the process is awake (check_watch.h).  To read that
   of each thread from /proc takes longer than a small region's copies, so these count themselves, where libgompy is in
   the process (its function gompy_own_threads).

   Who wakes a thread counts it before: from there on it is awake, whether it has got a processor or not.  What such a
   thread waits at must have pages of its own: it may come to the kernel with it after the program's were closed.  */
#ifndef GOMPY_OWN_THREADS_H
#define GOMPY_OWN_THREADS_H

#include <dlfcn.h>

struct gompy_own_counts
{
  int threads, awake;
};

#define GOMPY_OWN_PAGE 4096

static inline struct gompy_own_counts *
gompy_own_counts_of (void)
{
  static struct gompy_own_counts nobody_asks, *known;
  struct gompy_own_counts *counts = __atomic_load_n (&known, __ATOMIC_RELAXED);
  if (counts == NULL)
    {
      struct gompy_own_counts *(*find) (void)
        = (struct gompy_own_counts *(*) (void)) dlsym (RTLD_DEFAULT, "gompy_own_threads");
      counts = find != NULL ? find () : &nobody_asks;
      __atomic_store_n (&known, counts, __ATOMIC_RELAXED);
    }
  return counts;
}

/* A thread is about to be started.  */
static inline void
gompy_own_begins (void)
{
  __atomic_fetch_add (&gompy_own_counts_of ()->awake, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add (&gompy_own_counts_of ()->threads, 1, __ATOMIC_SEQ_CST);
}

/* It ends, or could not be started.  */
static inline void
gompy_own_ends (void)
{
  __atomic_fetch_sub (&gompy_own_counts_of ()->threads, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_sub (&gompy_own_counts_of ()->awake, 1, __ATOMIC_SEQ_CST);
}

/* It goes to sleep.  */
static inline void
gompy_own_rests (void)
{
  __atomic_fetch_sub (&gompy_own_counts_of ()->awake, 1, __ATOMIC_SEQ_CST);
}

/* It is about to be woken.  */
static inline void
gompy_own_wakes (void)
{
  __atomic_fetch_add (&gompy_own_counts_of ()->awake, 1, __ATOMIC_SEQ_CST);
}

#endif
