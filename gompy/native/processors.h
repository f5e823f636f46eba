/* The processors of this machine that the process may use.  */
#ifndef GOMPY_NATIVE_PROCESSORS_H
#define GOMPY_NATIVE_PROCESSORS_H

#include <sched.h>

/* How many, at least 1.  */
static inline int
gompy_available_cpus (void)
{
  cpu_set_t cpus;
  int n = sched_getaffinity (0, sizeof cpus, &cpus) == 0 ? CPU_COUNT (&cpus) : 0;
  return n > 0 ? n : 1;
}

#endif
