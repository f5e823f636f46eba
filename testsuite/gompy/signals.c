/* A timer interrupts the host all the time while regions run and data moves.  */
/* { dg-do run } */
/* { gompy-launches 200 } */

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;

static void
tick (int number)
{
  (void) number;
  ticks++;
}

int
main (void)
{
  struct sigaction action = { .sa_handler = tick };
  sigaction (SIGALRM, &action, NULL);
  struct itimerval every = { { 0, 500 }, { 0, 500 } };
  setitimer (ITIMER_REAL, &every, NULL);
  static int data[100000];
  for (int i = 0; i < 200; i++)
    {
#pragma omp target map(tofrom: data)
      for (int j = 0; j < 100000; j++)
	data[j]++;
    }
  for (int j = 0; j < 100000; j++)
    if (data[j] != 200)
      abort ();
  return ticks == 0;
}
