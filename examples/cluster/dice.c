/* dice CHUNKS DRAWS [TIMES]: pi by random points, on all devices that there are; on the host if there is none.

   The points come in CHUNKS of DRAWS, each one target region.  A thread of the host for each device takes the next chunk when
   its device has ended one.  Each point is made of its number, so the sum does not depend on where which chunk ran.  TIMES: a
   file that gets each chunk's processor time, a line each.  */

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST 1024		/* devices */

#pragma omp declare target

/* Sixty-four bits of a number, all of which count: Steele, Lea and Flood's SplitMix64.  */

static uint64_t
mix (uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static int
inside (uint64_t point)
{
  uint64_t bits = mix (point);
  double x = (double) (bits >> 32) / 0x1p32, y = (double) (bits & 0xffffffffu) / 0x1p32;
  return x * x + y * y < 1;
}

#pragma omp end declare target

/* One chunk on a device: points inside of the circle, and seconds of processor time.  */

static int64_t
draw (int device, uint64_t first, int64_t draws, double *seconds)
{
  int64_t hits = 0;
  double used = 0;
#pragma omp target device(device) map(tofrom: hits) map(from: used)
  {
    clock_t begin = clock ();
    int64_t sum = 0;
#pragma omp parallel for reduction(+: sum)
    for (int64_t i = 0; i < draws; i++)
      sum += inside (first + i);
    hits = sum;
    used = (double) (clock () - begin) / CLOCKS_PER_SEC;
  }
  *seconds = used;
  return hits;
}

int
main (int argc, char **argv)
{
  int64_t chunks = argc > 1 ? atoll (argv[1]) : 0, draws = argc > 2 ? atoll (argv[2]) : 0, hits = 0;
  int devices = omp_get_num_devices (), places = devices ? devices : 1, ran[MOST] = { 0 };
  double spent[MOST] = { 0 };
  if (chunks < 1 || draws < 1 || chunks > INT64_MAX / draws || argc > 4 || places > MOST)
    {
      fprintf (stderr, "usage: dice CHUNKS DRAWS [TIMES]\n");
      return 2;
    }
  double *times = calloc (chunks, sizeof *times);
  if (!times)
    {
      fprintf (stderr, "dice: error: out of memory\n");
      return 1;
    }
#pragma omp parallel num_threads(places) reduction(+: hits)
  {
    int place = omp_get_thread_num ();
    /* The first region of a device starts it and loads its code: that is no part of a chunk.  */
#pragma omp target device(devices ? place : omp_get_initial_device ())
    ;
#pragma omp for schedule(dynamic)
    for (int64_t chunk = 0; chunk < chunks; chunk++)
      {
	hits += draw (devices ? place : omp_get_initial_device (), chunk * draws, draws, &times[chunk]);
	spent[place] += times[chunk];
	ran[place]++;
      }
  }
  printf ("%d devices, %" PRId64 " of %" PRId64 " points inside: pi is about %.5f\n", devices, hits, chunks * draws,
	  4.0 * (double) hits / (double) (chunks * draws));
  for (int place = 0; place < places; place++)
    printf ("%s %d: %d chunks, %.3f s\n", devices ? "device" : "host", place, ran[place], spent[place]);
  FILE *file = argc > 3 ? fopen (argv[3], "w") : NULL;
  for (int64_t chunk = 0; file && chunk < chunks; chunk++)
    fprintf (file, "%.6f\n", times[chunk]);
  if (argc > 3 && (!file || fclose (file) != 0))
    {
      perror (argv[3]);
      return 1;
    }
  free (times);
  return 0;
}
