/* Reverse offload: regions on the device have the host run functions, with the data that goes with them.
   With an argument: the host's function ends the program.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#pragma omp requires reverse_offload

struct pair { int first, second; double third; };
static int host_only[4] = { 10, 20, 30, 40 };
static int calls;
#pragma omp declare target
static int global = 5;
#pragma omp end declare target

/* What no device has: the environment, and a target region of its own.  */
static int
ask (int x)
{
  int twice = 0;
  #pragma omp atomic
  calls++;
  if (!getenv ("PATH"))
    return -1;
  #pragma omp target map(from: twice)
  twice = 2 * x + omp_is_initial_device ();
  return twice + host_only[x & 3];
}

static int
many (void)
{
  int sum = 0;
  #pragma omp target teams num_teams(3) reduction(+: sum) map(tofrom: sum)
  #pragma omp parallel num_threads(2) reduction(+: sum)
  for (int i = 0; i < 20; i++)
    {
      int x = i, got = 0;
      #pragma omp target device(ancestor: 1) firstprivate(x) map(from: got)
      got = ask (x);
      sum += got;
    }
  return sum;
}

static void
maps (void)
{
  int mapped[4] = { 1, 2, 3, 4 }, renewed[4] = { 1, 2, 3, 4 }, seen[3] = { 0, 0, 0 };
  #pragma omp target map(tofrom: mapped, renewed, seen)
  {
    int own[5] = { 1, 1, 1, 1, 1 };
    struct pair pair = { 1, 2, 3 };
    int *allocated = malloc (3 * sizeof *allocated);
    for (int i = 0; i < 3; i++)
      allocated[i] = i + 1;
    mapped[0] = 100;  /* the device's: the host has 1 until the region ends, and goes on with that */
    renewed[1] = 200;
    global = 6;
    #pragma omp target device(ancestor: 1) map(to: mapped) map(always, to: renewed[1:1]) \
                       map(tofrom: own[1:3], pair.second, pair.third) map(tofrom: allocated[0:3]) map(always, to: global)
    {
      own[1] = mapped[0];
      own[2] = renewed[1];
      own[3] = global;
      pair.second += 10;
      pair.third *= 2;
      for (int i = 0; i < 3; i++)
        allocated[i] *= 7;
    }
    seen[0] = own[0] + own[1] * 1000 + own[2] * 1000000 + own[3] * 10;
    seen[1] = pair.first + 10 * pair.second + 1000 * (int) pair.third;
    seen[2] = allocated[0] + 100 * allocated[1] + 10000 * allocated[2];
    free (allocated);
  }
  printf ("%d %d %d, %d\n", seen[0], seen[1], seen[2], global);
}

int
main (int argc, char **argv)
{
  int ending = argc > 1, later = 0;
  printf ("host 1\n");
  #pragma omp target map(to: ending)
  {
    printf ("device 2\n");
    #pragma omp target device(ancestor: 1) firstprivate(ending)
    {
      printf ("host 3\n");
      if (ending)
        exit (7);
    }
    printf ("device 4\n");
  }
  printf ("host 5, %d\n", many ());
  maps ();
  #pragma omp target nowait map(tofrom: later)
  {
    #pragma omp target device(ancestor: 1) map(always, tofrom: later)
    later = host_only[3];
  }
  #pragma omp taskwait
  printf ("%d, %d calls\n", later, calls);
  return 0;
}
