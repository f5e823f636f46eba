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

#ifndef GOMPY_OWN_COUNTS_HERE
static struct gompy_own_counts gompy_nobody_asks, *gompy_own_known = &gompy_nobody_asks;

/* Looked for when a driver is loaded: later a lock of its own may be held, and the loader's by a library's constructor
   that waits for that.  */
static __attribute__ ((constructor)) void
gompy_own_find (void)
{
  struct gompy_own_counts *(*find) (void)
    = (struct gompy_own_counts *(*) (void)) dlsym (RTLD_DEFAULT, "gompy_own_threads");
  if (find != NULL)
    gompy_own_known = find ();
}

/* A thread is about to be started.  */
static inline void
gompy_own_begins (void)
{
  __atomic_fetch_add (&gompy_own_known->awake, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_add (&gompy_own_known->threads, 1, __ATOMIC_SEQ_CST);
}

/* It ends, or could not be started.  */
static inline void
gompy_own_ends (void)
{
  __atomic_fetch_sub (&gompy_own_known->threads, 1, __ATOMIC_SEQ_CST);
  __atomic_fetch_sub (&gompy_own_known->awake, 1, __ATOMIC_SEQ_CST);
}

/* It goes to sleep.  */
static inline void
gompy_own_rests (void)
{
  __atomic_fetch_sub (&gompy_own_known->awake, 1, __ATOMIC_SEQ_CST);
}

/* It is about to be woken.  */
static inline void
gompy_own_wakes (void)
{
  __atomic_fetch_add (&gompy_own_known->awake, 1, __ATOMIC_SEQ_CST);
}

#endif /* not GOMPY_OWN_COUNTS_HERE */

#endif
