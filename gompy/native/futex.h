/* To sleep until a word of memory changes.  */
#ifndef GOMPY_NATIVE_FUTEX_H
#define GOMPY_NATIVE_FUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleep while *WORD is VALUE, at most NS nanoseconds, < 0: for ever.  SCOPE: 0 where processes share the word, else
   FUTEX_PRIVATE_FLAG.  */
static inline int
gompy_futex_wait (uint32_t *word, uint32_t value, int64_t ns, int scope)
{
  struct timespec limit = { ns / 1000000000, ns % 1000000000 };
  return (int) syscall (SYS_futex, word, FUTEX_WAIT | scope, value, ns < 0 ? NULL : &limit, NULL, 0);
}

/* Wake as many as COUNT that sleep on the word.  */
static inline int
gompy_futex_wake (uint32_t *word, int count, int scope)
{
  return (int) syscall (SYS_futex, word, FUTEX_WAKE | scope, count, NULL, NULL, 0);
}

#endif
