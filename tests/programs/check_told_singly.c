/* How many writes of a region are told one by one, where its threads have read the same memory in no order before.  */

#include "gompy/native/access.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 8192 };

#pragma omp declare target
extern struct gompy_access gompy_access __attribute__ ((weak));
static void (*tell) (uintptr_t address, size_t size, const void *pc);
static void (*tell_one) (uintptr_t address, int kind, const unsigned char *site, const void *pc);
static int singles;

static void __attribute__ ((no_sanitize ("thread")))
count (uintptr_t address, size_t size, const void *pc)
{
  __atomic_fetch_add (&singles, 1, __ATOMIC_RELAXED);
  tell (address, size, pc);
}

static void __attribute__ ((no_sanitize ("thread")))
count_one (uintptr_t address, int kind, const unsigned char *site, const void *pc)
{
  if (kind & GOMPY_RANGE_WRITES)
    __atomic_fetch_add (&singles, 1, __ATOMIC_RELAXED);
  tell_one (address, kind, site, pc);
}

static void __attribute__ ((no_sanitize ("thread")))
begin (void)
{
  singles = 0;
  tell_one = gompy_access.one;
  gompy_access.one = count_one;
  tell = gompy_access.write;
  gompy_access.write = count;
}

static int __attribute__ ((no_sanitize ("thread")))
end (void)
{
  gompy_access.write = tell;
  gompy_access.one = tell_one;
  return singles;
}
#pragma omp end declare target

int
main (void)
{
  float *p = malloc (N * sizeof *p);
  int *at = malloc (N * sizeof *at), *sum = calloc (4, sizeof *sum), told[2];
  for (int i = 0; i < N; i++)
    {
      p[i] = i;
      at[i] = i * 4099 % N;
    }
  for (int scatters = 0; scatters < 2; scatters++)
    #pragma omp target map(tofrom: p[:N], sum[:4]) map(to: at[:N]) map(from: told[scatters:1])
    {
      begin ();
      #pragma omp parallel num_threads(2)
      {
        int s = 0;
        #pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++)
          s += p[at[i]];
        sum[2 * scatters + omp_get_thread_num ()] = s;
        #pragma omp barrier
        if (scatters)
          {
            #pragma omp for schedule(static)
            for (int i = 0; i < N; i++)
              p[at[i]] = i;
          }
        else
          {
            #pragma omp for schedule(static)
            for (int i = 0; i < N; i++)
              p[i] = i + 1;
          }
      }
      told[scatters] = end ();
    }
  printf ("%d %d\n", sum[0] + sum[1], sum[2] + sum[3]);
  printf ("%d %d\n", told[0], told[1]);
  return 0;
}
