/* Time that only goes forward.  */
#ifndef GOMPY_NATIVE_CLOCK_H
#define GOMPY_NATIVE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define GOMPY_SIGNAL_NS 1500u /* what the kernel takes for a fault's signal, and the handler's return */

/* In nanoseconds.  */
static inline uint64_t
gompy_clock_ns (clockid_t clock)
{
  struct timespec time;
  clock_gettime (clock, &time);
  return (uint64_t) time.tv_sec * 1000000000u + (uint64_t) time.tv_nsec;
}

static inline uint64_t
gompy_now (void)
{
  return gompy_clock_ns (CLOCK_MONOTONIC);
}

/* What the calling thread, or the process, has taken of the processor, in nanoseconds; that goes by while the machine
   serves us as a guest of its, but not while others run here.  */
static inline uint64_t
gompy_thread_time (void)
{
  return gompy_clock_ns (CLOCK_THREAD_CPUTIME_ID);
}

static inline uint64_t
gompy_process_time (void)
{
  return gompy_clock_ns (CLOCK_PROCESS_CPUTIME_ID);
}

/* A time, so many nanoseconds later.  */
static inline void
gompy_add_time (struct timespec *time, uint64_t ns)
{
  ns += (uint64_t) time->tv_nsec;
  time->tv_sec += (time_t) (ns / 1000000000u);
  time->tv_nsec = (long) (ns % 1000000000u);
}

#endif
