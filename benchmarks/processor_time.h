/* Processor time of a program and of its devices, for one region.  */
#ifndef PROCESSOR_TIME_H
#define PROCESSOR_TIME_H

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 20 }; /* regions that are not measured */

static double
seconds (clockid_t clock)
{
  struct timespec t;
  return clock_gettime (clock, &t) == 0 ? t.tv_sec + t.tv_nsec / 1e9 : 0;
}

/* Of this process and of its children, which are the devices.  */
static double
processor_time (void)
{
  char path[64];
  double all = seconds (CLOCK_PROCESS_CPUTIME_ID);
  int child;
  FILE *children;
  snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
  if ((children = fopen (path, "r")) == NULL)
    return all;
  while (fscanf (children, "%d", &child) == 1)
    {
      clockid_t clock;
      if (clock_getcpuclockid (child, &clock) == 0)
	all += seconds (clock);
    }
  fclose (children);
  return all;
}

/* Nanoseconds for one call of ONE.  */
static double
measure (void (*one) (void), int rounds)
{
  double begin = 0;
  for (int round = -WARM; round < rounds; round++)
    {
      if (round == 0)
	begin = processor_time ();
      one ();
    }
  return (processor_time () - begin) / rounds * 1e9;
}

#endif
