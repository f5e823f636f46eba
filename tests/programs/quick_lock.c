/* Threads that count under gompy/native/lock.h, with and without waiting.  Prints the sum and how often try refused.  */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "gompy/native/lock.h"

static gompy_quick_lock lock;
static long sum;

static void *
count_up (void *times)
{
  for (long i = 0; i < (long) times; i++)
    {
      gompy_quick_acquire (&lock);
      long before = sum;
      if (i % 64 == 0)
        sched_yield ();
      sum = before + 1;
      gompy_quick_release (&lock);
    }
  return NULL;
}

static void *
try_once (void *refused)
{
  *(int *) refused = !gompy_quick_try (&lock);
  return NULL;
}

int
main (int argc, char **argv)
{
  pthread_t threads[8];
  if (argc != 3)
    return 2;
  int count = atoi (argv[1]), refused = 0;
  long times = atol (argv[2]);
  gompy_quick_init (&lock);
  count_up ((void *) times);
  for (int i = 0; i < count; i++)
    pthread_create (&threads[i], NULL, count_up, (void *) times);
  for (int i = 0; i < count; i++)
    pthread_join (threads[i], NULL);
  if (!gompy_quick_try (&lock) || gompy_quick_try (&lock))
    return 3;
  pthread_create (&threads[0], NULL, try_once, &refused);
  pthread_join (threads[0], NULL);
  gompy_quick_release (&lock);
  count_up ((void *) 1);
  printf ("%ld %d\n", sum, refused);
  return 0;
}
