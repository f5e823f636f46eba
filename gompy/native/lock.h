/* A lock that costs a few instructions where nobody waits for it: mapping and allocation take four of them a call.

   As pthread_mutex_t it belongs to the threads of one process and is not recursive.  Zeros are a free lock.  The word
   is 0 when free, 1 when held, 2 when held and perhaps waited for (Drepper, "Futexes Are Tricky", section 5).  A build
   for the thread sanitizer has a mutex, which that tool understands.  */
#ifndef GOMPY_NATIVE_LOCK_H
#define GOMPY_NATIVE_LOCK_H

#include <stdbool.h>

#ifdef __SANITIZE_THREAD__

#include <pthread.h>

typedef struct { pthread_mutex_t mutex; } gompy_quick_lock;

static inline void gompy_quick_init (gompy_quick_lock *lock) { pthread_mutex_init (&lock->mutex, (void *) 0); }
static inline void gompy_quick_acquire (gompy_quick_lock *lock) { pthread_mutex_lock (&lock->mutex); }
static inline bool gompy_quick_try (gompy_quick_lock *lock) { return pthread_mutex_trylock (&lock->mutex) == 0; }
static inline void gompy_quick_ask (gompy_quick_lock *lock) { (void) lock; }
static inline void gompy_quick_release (gompy_quick_lock *lock) { pthread_mutex_unlock (&lock->mutex); }

#else

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct { int word; } gompy_quick_lock;

static inline void
gompy_quick_init (gompy_quick_lock *lock)
{
  lock->word = 0;
}

static __attribute__ ((noinline, unused)) void
gompy_quick_wait (gompy_quick_lock *lock)
{
  int error = errno;
  while (__atomic_exchange_n (&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
    syscall (SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, (void *) 0, (void *) 0, 0);
  errno = error;
}

static __attribute__ ((noinline, unused)) void
gompy_quick_wake (gompy_quick_lock *lock)
{
  int error = errno;
  syscall (SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, (void *) 0, (void *) 0, 0);
  errno = error;
}

/* By the holder: the word says 2 also where it has waited itself.  Whoever waits now says so anew.  */
static __attribute__ ((noinline, unused)) void
gompy_quick_ask (gompy_quick_lock *lock)
{
  int error = errno, waited = 2;
  if (__atomic_compare_exchange_n (&lock->word, &waited, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    syscall (SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, INT_MAX, (void *) 0, (void *) 0, 0);
  errno = error;
}

static inline bool
gompy_quick_try (gompy_quick_lock *lock)
{
  int free_word = 0;
  if (__libc_single_threaded)  /* no atomic operation, as in libc's own mutex */
    {
      if (lock->word)
        return false;
      lock->word = 1;
      return true;
    }
  return __atomic_compare_exchange_n (&lock->word, &free_word, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void
gompy_quick_acquire (gompy_quick_lock *lock)
{
  if (__builtin_expect (!gompy_quick_try (lock), 0))
    gompy_quick_wait (lock);
}

static inline void
gompy_quick_release (gompy_quick_lock *lock)
{
  if (__libc_single_threaded)
    lock->word = 0;
  else if (__builtin_expect (__atomic_exchange_n (&lock->word, 0, __ATOMIC_RELEASE) == 2, 0))
    gompy_quick_wake (lock);
}

#endif

#endif
