/* Preloaded into host and device: counts calls in the file that CALL_COUNTS names (its first words: yields, futex waits,
   futex wakes, changes of the caller's own mask of processors, questions for the processor, those of the changes that
   leave out the first processor of all that there were at the start), both processes together.
   LOADAVG names what they read in place of /proc/loadavg.  With ONE_PROCESSOR all threads are told the same one.  */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long nowhere[6], *counts = nowhere;
static int first;
static long (*real_syscall) (long, ...);

__attribute__ ((constructor)) static void
start (void)
{
  const char *name = getenv ("CALL_COUNTS");
  int fd = name ? open (name, O_RDWR | O_CLOEXEC) : -1;
  void *p = fd < 0 ? MAP_FAILED : mmap (NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  cpu_set_t all;
  real_syscall = dlsym (RTLD_NEXT, "syscall");
  for (sched_getaffinity (0, sizeof all, &all); first < CPU_SETSIZE - 1 && !CPU_ISSET (first, &all);)
    first++;
  if (p != MAP_FAILED)
    counts = p;
  if (fd >= 0)
    close (fd);
}

unsigned long
departures_counted (void)
{
  return __atomic_load_n (&counts[5], __ATOMIC_RELAXED);
}

int
sched_yield (void)
{
  __atomic_add_fetch (&counts[0], 1, __ATOMIC_RELAXED);
  return real_syscall (SYS_sched_yield);
}

int
sched_setaffinity (pid_t thread, size_t size, const cpu_set_t *mask)
{
  if (thread == 0)
    {
      __atomic_add_fetch (&counts[3], 1, __ATOMIC_RELAXED);
      __atomic_add_fetch (&counts[5], !CPU_ISSET_S (first, size, mask), __ATOMIC_RELAXED);
    }
  return real_syscall (SYS_sched_setaffinity, thread, size, mask);
}

int
sched_getcpu (void)
{
  unsigned processor = 0;
  __atomic_add_fetch (&counts[4], 1, __ATOMIC_RELAXED);
  if (getenv ("ONE_PROCESSOR") == NULL)
    real_syscall (SYS_getcpu, &processor, NULL, NULL);
  return (int) processor;
}

int
open (const char *path, int flags, ...)
{
  const char *other = strcmp (path, "/proc/loadavg") == 0 ? getenv ("LOADAVG") : NULL;
  va_list list;
  va_start (list, flags);
  int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg (list, int) : 0;
  va_end (list);
  return openat (AT_FDCWD, other ? other : path, flags, mode);
}

int open64 (const char *, int, ...) __attribute__ ((alias ("open")));

long
syscall (long number, ...)
{
  long a[6];
  va_list list;
  va_start (list, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg (list, long);
  va_end (list);
  if (number == SYS_futex)
    __atomic_add_fetch (&counts[(a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? 2 : 1], 1, __ATOMIC_RELAXED);
  return real_syscall (number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
