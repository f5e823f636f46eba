/* Resource limits: for messages about what the system has refused, and for what is left out under one.  */
#ifndef GOMPY_NATIVE_LIMITS_H
#define GOMPY_NATIVE_LIMITS_H

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>

/* What a message says behind the text of an errno value: the limit that may be the reason, "" if there is none.  */
static inline const char *
gompy_limit_hint (int error)
{
  static const struct
  {
    int error, resource;
    const char *text;
  } limits[] = {
    { ENOMEM, RLIMIT_AS, " (address space is limited: ulimit -v)" },
    { ENOMEM, RLIMIT_DATA, " (private memory is limited: ulimit -d)" },
    { EFBIG, RLIMIT_FSIZE, " (the size of files is limited: ulimit -f)" },
    { EMFILE, RLIMIT_NOFILE, " (open files are limited: ulimit -n)" },
    /* A thread's stack is memory; that limit is rare, and the one on processes common.  */
    { EAGAIN, RLIMIT_AS, " (address space is limited: ulimit -v)" },
    { EAGAIN, RLIMIT_DATA, " (private memory is limited: ulimit -d)" },
    { EAGAIN, RLIMIT_NPROC, " (processes are limited: ulimit -u)" },
  };
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
    {
      struct rlimit limit;
      if (limits[i].error == error && getrlimit (limits[i].resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return limits[i].text;
    }
  return "";
}

/* Whether there is a limit on the addresses that a process reserves.  */
static inline int
gompy_few_addresses (void)
{
  struct rlimit limit;
  return getrlimit (RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

#endif
