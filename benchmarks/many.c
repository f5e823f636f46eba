/* What maps cost where there are many: the same source for gompcc and clang.  One JSON object on standard output.

   many ranges N: N arrays of 64 bytes are entered in random order, looked up, used by a launch, and exited in random
   order.  Nanoseconds for one operation, the median and the lowest tenth of batches; bytes of memory that a mapping
   takes, on both sides; seconds of the processor for entering and for exiting all.
   many constructs: a launch with 64 arrays that are new, with 64 that are present, and with a struct of 64 pointers
   that are attached to their arrays; nanoseconds for one, the median and the lowest tenth.  */

#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "order.h"
#include "timing.h"

enum
{
  SIZE = 64, STEP = 2 * SIZE, BATCH = 100, SOME_BATCHES = 1000, MOST_BATCHES = 1 << 20, ARRAYS = 64,
  SMALL = 16, TURNS = 500
};

static char *memory;
static uint32_t *order;
static double times[MOST_BATCHES];
static double *array[ARRAYS];
static int device;

static struct members
{
  double *m0, *m1, *m2, *m3, *m4, *m5, *m6, *m7;
  double *m8, *m9, *m10, *m11, *m12, *m13, *m14, *m15;
  double *m16, *m17, *m18, *m19, *m20, *m21, *m22, *m23;
  double *m24, *m25, *m26, *m27, *m28, *m29, *m30, *m31;
  double *m32, *m33, *m34, *m35, *m36, *m37, *m38, *m39;
  double *m40, *m41, *m42, *m43, *m44, *m45, *m46, *m47;
  double *m48, *m49, *m50, *m51, *m52, *m53, *m54, *m55;
  double *m56, *m57, *m58, *m59, *m60, *m61, *m62, *m63;
} s;

/* Kilobytes that /proc/PID/status has of some kind.  */
static double
status_of (const char *pid, const char *what)
{
  char path[64], line[256];
  double kilobytes = 0;
  FILE *f;
  snprintf (path, sizeof path, "/proc/%.20s/status", pid);
  if (!(f = fopen (path, "r")))
    return 0;
  while (fgets (line, sizeof line, f))
    if (!strncmp (line, what, strlen (what)))
      kilobytes = atof (line + strlen (what) + 1);
  fclose (f);
  return kilobytes;
}

/* Bytes of the program and of the device's process, if it is one; the program has the device's memory mapped.  */
static double
memory_used (void)
{
  char path[64], child[32];
  double kilobytes = status_of ("self", "RssAnon") + status_of ("self", "RssShmem");
  FILE *children;
  snprintf (path, sizeof path, "/proc/self/task/%d/children", getpid ());
  if ((children = fopen (path, "r")))
    {
      while (fscanf (children, "%31s", child) == 1)
	kilobytes += status_of (child, "RssAnon");
      fclose (children);
    }
  return 1024 * kilobytes;
}

static void
enter (char *p)
{
#pragma omp target enter data map(to: p[:SIZE])
}

static void
leave (char *p)
{
#pragma omp target exit data map(from: p[:SIZE])
}

static void
look_up (char *p)
{
  if (!omp_target_is_present (p + 1, device))
    abort ();
}

static void
launch (char *p)
{
#pragma omp target map(to: p[:SIZE])
  p[0]++;
}

/* Print the median and the lowest tenth of some times.  */
static void
tell (const char *name, size_t n)
{
  qsort (times, n, sizeof *times, by_size);
  printf ("\"%s\": {\"median\": %.1f, \"low\": %.1f}, ", name, times[n / 2], times[n / 10]);
}

/* All ranges, or some batches of them, in the order that is there.  */
static void
each (const char *name, void (*operation) (char *), uint32_t n, size_t most)
{
  size_t batches = 0;
  for (uint32_t i = 0; i < n && batches < most; batches++)
    {
      double begin = now ();
      uint32_t first = i;
      for (; i < n && i < first + BATCH; i++)
	operation (memory + (size_t) order[i] * STEP);
      times[batches] = (now () - begin) / (i - first);
    }
  tell (name, batches);
}

static void
ranges (uint32_t n)
{
  double bytes, begin, entered;
  memory = malloc ((size_t) n * STEP);
  memset (memory, 1, (size_t) n * STEP);
  order = malloc (n * sizeof *order);
  for (uint32_t i = 0; i < n; i++)
    order[i] = i;
  memset (times, 0, sizeof times);
  putchar ('{');
  fflush (stdout);
  bytes = memory_used ();
  shuffle (order, n);
  begin = spent ();
  each ("enter", enter, n, MOST_BATCHES);
  entered = spent () - begin;
  bytes = memory_used () - bytes;
  shuffle (order, n);
  each ("look-up", look_up, n, SOME_BATCHES);
  shuffle (order, n);
  each ("launch", launch, n, SOME_BATCHES);
  shuffle (order, n);
  begin = spent ();
  each ("exit", leave, n, MOST_BATCHES);
  printf ("\"bytes\": %.1f, \"enter-all\": %.3f, \"exit-all\": %.3f}\n", bytes / n, entered, spent () - begin);
}

static void
launch_arrays (void)
{
  double *p0 = array[0], *p1 = array[1], *p2 = array[2], *p3 = array[3],
         *p4 = array[4], *p5 = array[5], *p6 = array[6], *p7 = array[7],
         *p8 = array[8], *p9 = array[9], *p10 = array[10], *p11 = array[11],
         *p12 = array[12], *p13 = array[13], *p14 = array[14], *p15 = array[15],
         *p16 = array[16], *p17 = array[17], *p18 = array[18], *p19 = array[19],
         *p20 = array[20], *p21 = array[21], *p22 = array[22], *p23 = array[23],
         *p24 = array[24], *p25 = array[25], *p26 = array[26], *p27 = array[27],
         *p28 = array[28], *p29 = array[29], *p30 = array[30], *p31 = array[31],
         *p32 = array[32], *p33 = array[33], *p34 = array[34], *p35 = array[35],
         *p36 = array[36], *p37 = array[37], *p38 = array[38], *p39 = array[39],
         *p40 = array[40], *p41 = array[41], *p42 = array[42], *p43 = array[43],
         *p44 = array[44], *p45 = array[45], *p46 = array[46], *p47 = array[47],
         *p48 = array[48], *p49 = array[49], *p50 = array[50], *p51 = array[51],
         *p52 = array[52], *p53 = array[53], *p54 = array[54], *p55 = array[55],
         *p56 = array[56], *p57 = array[57], *p58 = array[58], *p59 = array[59],
         *p60 = array[60], *p61 = array[61], *p62 = array[62], *p63 = array[63];
#pragma omp target map(to: \
             p0[:SMALL], p1[:SMALL], p2[:SMALL], p3[:SMALL], p4[:SMALL], p5[:SMALL], \
             p6[:SMALL], p7[:SMALL], p8[:SMALL], p9[:SMALL], p10[:SMALL], p11[:SMALL], \
             p12[:SMALL], p13[:SMALL], p14[:SMALL], p15[:SMALL], p16[:SMALL], p17[:SMALL], \
             p18[:SMALL], p19[:SMALL], p20[:SMALL], p21[:SMALL], p22[:SMALL], p23[:SMALL], \
             p24[:SMALL], p25[:SMALL], p26[:SMALL], p27[:SMALL], p28[:SMALL], p29[:SMALL], \
             p30[:SMALL], p31[:SMALL], p32[:SMALL], p33[:SMALL], p34[:SMALL], p35[:SMALL], \
             p36[:SMALL], p37[:SMALL], p38[:SMALL], p39[:SMALL], p40[:SMALL], p41[:SMALL], \
             p42[:SMALL], p43[:SMALL], p44[:SMALL], p45[:SMALL], p46[:SMALL], p47[:SMALL], \
             p48[:SMALL], p49[:SMALL], p50[:SMALL], p51[:SMALL], p52[:SMALL], p53[:SMALL], \
             p54[:SMALL], p55[:SMALL], p56[:SMALL], p57[:SMALL], p58[:SMALL], p59[:SMALL], \
             p60[:SMALL], p61[:SMALL], p62[:SMALL], p63[:SMALL])
  p0[0] = p63[0];
}

static void
launch_struct (void)
{
#pragma omp target map(to: s, \
             s.m0[:SMALL], s.m1[:SMALL], s.m2[:SMALL], s.m3[:SMALL], s.m4[:SMALL], s.m5[:SMALL], \
             s.m6[:SMALL], s.m7[:SMALL], s.m8[:SMALL], s.m9[:SMALL], s.m10[:SMALL], s.m11[:SMALL], \
             s.m12[:SMALL], s.m13[:SMALL], s.m14[:SMALL], s.m15[:SMALL], s.m16[:SMALL], s.m17[:SMALL], \
             s.m18[:SMALL], s.m19[:SMALL], s.m20[:SMALL], s.m21[:SMALL], s.m22[:SMALL], s.m23[:SMALL], \
             s.m24[:SMALL], s.m25[:SMALL], s.m26[:SMALL], s.m27[:SMALL], s.m28[:SMALL], s.m29[:SMALL], \
             s.m30[:SMALL], s.m31[:SMALL], s.m32[:SMALL], s.m33[:SMALL], s.m34[:SMALL], s.m35[:SMALL], \
             s.m36[:SMALL], s.m37[:SMALL], s.m38[:SMALL], s.m39[:SMALL], s.m40[:SMALL], s.m41[:SMALL], \
             s.m42[:SMALL], s.m43[:SMALL], s.m44[:SMALL], s.m45[:SMALL], s.m46[:SMALL], s.m47[:SMALL], \
             s.m48[:SMALL], s.m49[:SMALL], s.m50[:SMALL], s.m51[:SMALL], s.m52[:SMALL], s.m53[:SMALL], \
             s.m54[:SMALL], s.m55[:SMALL], s.m56[:SMALL], s.m57[:SMALL], s.m58[:SMALL], s.m59[:SMALL], \
             s.m60[:SMALL], s.m61[:SMALL], s.m62[:SMALL], s.m63[:SMALL])
  s.m0[0] = s.m63[0];
}

static void
time_construct (const char *name, void (*operation) (void))
{
  for (int i = -20; i < TURNS; i++)
    {
      double begin = now ();
      operation ();
      if (i >= 0)
	times[i] = now () - begin;
    }
  tell (name, TURNS);
}

static void
constructs (void)
{
  for (int i = 0; i < ARRAYS; i++)
    array[i] = calloc (SMALL, sizeof (double));
  s.m0 = array[0]; s.m1 = array[1]; s.m2 = array[2]; s.m3 = array[3];
  s.m4 = array[4]; s.m5 = array[5]; s.m6 = array[6]; s.m7 = array[7];
  s.m8 = array[8]; s.m9 = array[9]; s.m10 = array[10]; s.m11 = array[11];
  s.m12 = array[12]; s.m13 = array[13]; s.m14 = array[14]; s.m15 = array[15];
  s.m16 = array[16]; s.m17 = array[17]; s.m18 = array[18]; s.m19 = array[19];
  s.m20 = array[20]; s.m21 = array[21]; s.m22 = array[22]; s.m23 = array[23];
  s.m24 = array[24]; s.m25 = array[25]; s.m26 = array[26]; s.m27 = array[27];
  s.m28 = array[28]; s.m29 = array[29]; s.m30 = array[30]; s.m31 = array[31];
  s.m32 = array[32]; s.m33 = array[33]; s.m34 = array[34]; s.m35 = array[35];
  s.m36 = array[36]; s.m37 = array[37]; s.m38 = array[38]; s.m39 = array[39];
  s.m40 = array[40]; s.m41 = array[41]; s.m42 = array[42]; s.m43 = array[43];
  s.m44 = array[44]; s.m45 = array[45]; s.m46 = array[46]; s.m47 = array[47];
  s.m48 = array[48]; s.m49 = array[49]; s.m50 = array[50]; s.m51 = array[51];
  s.m52 = array[52]; s.m53 = array[53]; s.m54 = array[54]; s.m55 = array[55];
  s.m56 = array[56]; s.m57 = array[57]; s.m58 = array[58]; s.m59 = array[59];
  s.m60 = array[60]; s.m61 = array[61]; s.m62 = array[62]; s.m63 = array[63];
  putchar ('{');
  time_construct ("new", launch_arrays);
  time_construct ("struct", launch_struct);
  for (int i = 0; i < ARRAYS; i++)
    {
      double *p = array[i];
#pragma omp target enter data map(to: p[:SMALL])
    }
  time_construct ("present", launch_arrays);
  printf ("\"arrays\": %d}\n", ARRAYS);
}

int
main (int argc, char **argv)
{
  int on_host = 1;
  device = omp_get_default_device ();
#pragma omp target map(from: on_host)
  on_host = omp_is_initial_device ();
  if (on_host)
    {
      fprintf (stderr, "many.c: the region ran on the host\n");
      return 1;
    }
  if (argc == 3 && !strcmp (argv[1], "ranges"))
    ranges ((uint32_t) strtoul (argv[2], NULL, 10));
  else if (argc == 2 && !strcmp (argv[1], "constructs"))
    constructs ();
  else
    return 2;
  return 0;
}
