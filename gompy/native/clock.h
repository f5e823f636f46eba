/* Time that only goes forward.  */
#ifndef GOMPY_NATIVE_CLOCK_H
#define GOMPY_NATIVE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* In nanoseconds.  */
static inline uint64_t
gompy_now (void)
{
  struct timespec now;
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

#endif
