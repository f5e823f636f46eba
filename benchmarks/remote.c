/* remote REGIONS [PORT]: what regions and copies cost on device 0, in JSON: means of batches, the least and the median of them.

   empty: a region without data.  maps: three small maps.  burst: nowait regions, 60 at a time, each; team: 200 at a time in a
   team of four threads.  to, from: 16 MiB.  plain: the same by plain sockets, or by way of PORT, which is to lead to the port that
   is told on stderr.  */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"

#define BATCHES 31
#define BURST 60
#define TEAM 200
#define BYTES (16 << 20)

static double times[BATCHES];

static int
order (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;
  return (x > y) - (x < y);
}

static void
tell (const char *name, const char *after)
{
  qsort (times, BATCHES, sizeof *times, order);
  printf ("\"%s\": {\"least\": %.9f, \"median\": %.9f}%s", name, times[0], times[BATCHES / 2], after);
}

int
main (int argc, char **argv)
{
  int regions = argc > 1 ? atoi (argv[1]) : 100, host = 1, a[16] = { 0 }, b[16] = { 0 }, c = 0;
  char *block = malloc (BYTES);
  int plain = plain_open (argc > 2 ? atoi (argv[2]) : 0, 2);
  if (!block || plain < 0)
    return 1;
  memset (block, 1, BYTES);
#pragma omp target map(from: host)
  host = omp_is_initial_device ();
  printf ("{\"on_host\": %d, ", host);
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
      for (int i = 0; i < regions; i++)
	{
#pragma omp target
	  ;
	}
      times[batch] = (omp_get_wtime () - begin) / regions;
    }
  tell ("empty", ", ");
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
      for (int i = 0; i < regions; i++)
	{
#pragma omp target map(to: a) map(tofrom: b) map(from: c)
	  c = b[0] += a[0] + 1;
	}
      times[batch] = (omp_get_wtime () - begin) / regions;
    }
  tell ("maps", ", ");
  /* Before the bursts: GCC 12's own libgomp hangs in a parallel region with tasks after a nowait outside of one.  */
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
#pragma omp parallel num_threads(4)
#pragma omp single
      for (int i = 0; i < TEAM; i++)
	{
#pragma omp target nowait
	  ;
	}
      times[batch] = (omp_get_wtime () - begin) / TEAM;
    }
  tell ("team", ", ");
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
      for (int i = 0; i < BURST; i++)
	{
#pragma omp target nowait
	  ;
	}
#pragma omp taskwait
      times[batch] = (omp_get_wtime () - begin) / BURST;
    }
  tell ("burst", ", ");
#pragma omp target data map(alloc: block[:BYTES])
  {
    for (int batch = 0; batch < BATCHES; batch++)
      {
	double begin = omp_get_wtime ();
#pragma omp target update to(block[:BYTES])
#pragma omp target update from(block[:1])
	times[batch] = omp_get_wtime () - begin;
      }
    tell ("to", ", ");
    for (int batch = 0; batch < BATCHES; batch++)
      {
	double begin = omp_get_wtime ();
#pragma omp target update from(block[:BYTES])
	times[batch] = omp_get_wtime () - begin;
      }
    tell ("from", ", ");
  }
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
      for (int i = 0; i < regions; i++)
	if (plain_ask (plain, block, 0, 24))
	  return 1;
      times[batch] = (omp_get_wtime () - begin) / regions;
    }
  tell ("plain", ", ");
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
      if (plain_ask (plain, block, BYTES, 24))
	return 1;
      times[batch] = omp_get_wtime () - begin;
    }
  tell ("plain_to", ", ");
  for (int batch = 0; batch < BATCHES; batch++)
    {
      double begin = omp_get_wtime ();
      if (plain_ask (plain, block, 0, BYTES))
	return 1;
      times[batch] = omp_get_wtime () - begin;
    }
  tell ("plain_from", "");
  printf ("}\n");
  free (block);
  return c != b[0];
}
