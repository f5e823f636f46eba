/* A program that a signal ends in the middle of a region: it ends at once, by that signal, and what ran on its behalf (a
   device's process) goes with it.  */
/* { dg-do run } */
/* { gompy-sets "-DSIGNAL=SIGTERM" "-DSIGNAL=SIGINT" "-DSIGNAL=SIGKILL" } */
/* { dg-additional-options "-O1" } */
/* { gompy-launches 0 } */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void
endless (int out)
{
  int go = 0;
#pragma omp target map(tofrom: go)
  go = 1;
  if (write (out, &go, sizeof go) != sizeof go)
    _exit (1);
#pragma omp target map(tofrom: go)
  while (*(volatile int *) &go)
    ;
  _exit (2);
}

int
main (void)
{
  int ends[2], go, status, others[16], count = 0;
  char name[64];
  signal (SIGNAL, SIG_DFL);
  if (pipe (ends))
    abort ();
  pid_t child = fork ();
  if (child == 0)
    endless (ends[1]);
  if (read (ends[0], &go, sizeof go) != sizeof go || go != 1)
    abort ();
  usleep (100000);
  snprintf (name, sizeof name, "/proc/%d/task/%d/children", child, child);
  FILE *children = fopen (name, "r");
  while (children && count < 16 && fscanf (children, "%d", &others[count]) == 1)
    count++;
  kill (child, SIGNAL);
  if (waitpid (child, &status, 0) != child || !WIFSIGNALED (status) || WTERMSIG (status) != SIGNAL)
    abort ();
  for (int i = 0; i < count; i++)
    for (int tries = 0; kill (others[i], 0) == 0; tries++)
      {
	if (tries == 200)
	  {
	    printf ("process %d is still there\n", others[i]);
	    return 1;
	  }
	usleep (10000);
      }
  return 0;
}
