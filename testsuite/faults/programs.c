/* Ten programs, chosen by -DPROGRAM=0 … 9: what a construct needs of the system, each in its own way.  Each prints numbers
   that do not depend on where its regions run.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 1000

static int numbers[N];

static void
fill (int *to, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = i;
}

static long
total (const int *of, int n)
{
  long sum = 0;
  for (int i = 0; i < n; i++)
    sum += of[i];
  return sum;
}

#if PROGRAM == 0 /* a region */
int
main (void)
{
  int sum = 0;
  #pragma omp target map (tofrom: sum)
  for (int i = 0; i <= 100; i++)
    sum += i;
  printf ("%d\n", sum);
}
#elif PROGRAM == 1 /* data environments and updates */
int
main (void)
{
  fill (numbers, N);
  #pragma omp target data map (to: numbers)
  {
    numbers[0] = 50;
    #pragma omp target update to (numbers[:1])
    #pragma omp target
    for (int i = 0; i < N; i++)
      numbers[i] += 1;
    #pragma omp target update from (numbers)
  }
  printf ("%ld\n", total (numbers, N));
}
#elif PROGRAM == 2 /* teams */
int
main (void)
{
  long sum = 0;
  fill (numbers, N);
  #pragma omp target teams distribute parallel for num_teams (3) reduction (+: sum) map (to: numbers)
  for (int i = 0; i < N; i++)
    sum += numbers[i];
  printf ("%ld\n", sum);
}
#elif PROGRAM == 3 /* nowait and depend */
int
main (void)
{
  int a = 1, b = 2;
  #pragma omp parallel num_threads (2)
  #pragma omp single
  {
    #pragma omp target nowait map (tofrom: a) depend (out: a)
    a += 10;
    #pragma omp target nowait map (tofrom: b)
    b += 20;
    #pragma omp target nowait map (tofrom: a) depend (inout: a)
    a *= 2;
    #pragma omp taskwait
  }
  printf ("%d %d\n", a, b);
}
#elif PROGRAM == 4 /* variables of the image */
#pragma omp declare target
static int shared[N];
static int
twice (int x)
{
  return 2 * x;
}
#pragma omp end declare target
int
main (void)
{
  fill (shared, N);
  #pragma omp target update to (shared)
  #pragma omp target
  for (int i = 0; i < N; i++)
    shared[i] = twice (shared[i]);
  #pragma omp target update from (shared)
  printf ("%ld\n", total (shared, N));
}
#elif PROGRAM == 5 /* structures and their pointers */
struct list
{
  int *items;
  int n;
};
int
main (void)
{
  struct list list = { malloc (N * sizeof (int)), N };
  fill (list.items, N);
  #pragma omp target enter data map (to: list) map (to: list.items[:N])
  #pragma omp target
  for (int i = 0; i < list.n; i++)
    list.items[i] += 3;
  #pragma omp target exit data map (from: list.items[:N]) map (release: list)
  printf ("%ld\n", total (list.items, N));
}
#elif PROGRAM == 6 /* memory routines */
int
main (void)
{
  int device = omp_get_default_device (), host = omp_get_initial_device ();
  size_t volume[2] = { 10, 10 }, zero[2] = { 0, 0 }, sizes[2] = { 20, 50 };
  int *there, back[N];
  fill (numbers, N);
  memset (back, 0, sizeof back);
  there = omp_target_alloc (sizeof numbers, device);
  if (there == NULL)
    {
      fputs ("libgomp: the program has no memory\n", stderr);
      return 1;
    }
  if (omp_target_memcpy (there, numbers, sizeof numbers, 0, 0, device, host) != 0
      || omp_target_memcpy_rect (back, there, sizeof (int), 2, volume, zero, zero, sizes, sizes, host, device) != 0)
    {
      fputs ("libgomp: the program cannot copy\n", stderr);
      return 1;
    }
  omp_target_free (there, device);
  printf ("%ld\n", total (back, N));
}
#elif PROGRAM == 7 /* large copies, many objects */
int
main (void)
{
  int n = 1 << 20;
  int *large = malloc (n * sizeof (int)), *small[40];
  long sum = 0;
  fill (large, n);
  for (int i = 0; i < 40; i++)
    {
      small[i] = malloc (64);
      fill (small[i], 16);
      int *p = small[i];
      #pragma omp target enter data map (to: p[:16])
    }
  for (int round = 0; round < 2; round++)
    #pragma omp target map (tofrom: large[:n])
    for (int i = 0; i < n; i++)
      large[i]++;
  for (int i = 0; i < 40; i++)
    {
      int *p = small[i];
      #pragma omp target map (tofrom: p[:16])
      p[0] = i;
      #pragma omp target exit data map (from: p[:16])
      sum += p[0] + p[15];
    }
  printf ("%ld %ld\n", total (large, n), sum);
}
#elif PROGRAM == 8 /* output of regions, a forked child */
#include <sys/wait.h>
int
main (void)
{
  int x = 1, status = 0;
  pid_t child = fork ();
  if (child == 0)
    return 7;
  #pragma omp target map (tofrom: x)
  {
    x = 5;
    printf ("in a region\n");
  }
  waitpid (child, &status, 0);
  printf ("%d %d\n", x, WEXITSTATUS (status));
}
#elif PROGRAM == 9 /* OpenACC's queues */
int
main (void)
{
  fill (numbers, N);
  #pragma acc data copy (numbers)
  {
    #pragma acc parallel loop async (1) present (numbers)
    for (int i = 0; i < N; i++)
      numbers[i] += 2;
    #pragma acc parallel loop async (2) wait (1) present (numbers)
    for (int i = 0; i < N; i++)
      numbers[i] *= 2;
    #pragma acc wait
  }
  printf ("%ld\n", total (numbers, N));
}
#endif
