/* The CPU time of all threads.  */
#ifndef THREAD_TIMES_H
#define THREAD_TIMES_H
#include <dirent.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_THREADS = 256 };

/* CPU time of this process so far, in ms.  To begin with, threads are looked for: that takes longer than asking them.

   Linux counts what a thread does on another processor at that processor's ticks, some ms apart, and when its own
   clock is read.  The clock of the process alone leaves it out.  The number of a thread's clock is clock_gettime(2)'s
   "dynamic clock" of Linux: ~ID << 3, 4 for a thread's, 2 for the scheduler's time.  */
static inline double
cpu_ms (int begins)
{
  static int threads[MOST_THREADS], count;
  struct timespec now;
  DIR *directory = begins ? opendir ("/proc/self/task") : NULL;
  if (directory)
    {
      struct dirent *entry;
      count = 0;
      while ((entry = readdir (directory)) && count < MOST_THREADS)
        if ((threads[count] = atoi (entry->d_name)))
          count++;
      closedir (directory);
    }
  for (int i = 0; i < count; i++)
    clock_gettime ((clockid_t) (~(unsigned) threads[i] << 3 | 6), &now);
  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}
#endif
