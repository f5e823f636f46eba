/* canny PHOTO.jpg EDGES.png [BOTH.png]: find the edges of a photograph on the default device, compare every stage with
   the same stage run on the host, and write the picture (BOTH: half as wide, photograph and edges side by side).

   Exit status: 0 if all pixels of all stages are equal, 1 otherwise.  */

#include "canny.h"
#include "jpeg.h"
#include "png.h"

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOW 12
#define HIGH 30

static void *
allocate (size_t count, size_t size)
{
  void *block = calloc (count, size);
  if (!block)
    {
      fprintf (stderr, "canny: error: out of memory\n");
      exit (1);
    }
  return block;
}

static struct planes
new_planes (size_t size)
{
  struct planes p = { allocate (size, 1), allocate (size, 1), allocate (size, 4), allocate (size, 1), allocate (size, 4),
    allocate (size, 1) };
  return p;
}

static void
free_planes (struct planes *p)
{
  free (p->grey);
  free (p->blurred);
  free (p->magnitude);
  free (p->direction);
  free (p->thin);
  free (p->edges);
}

static long
different (const void *a, const void *b, size_t count, size_t size)
{
  long n = 0;
  for (size_t i = 0; i < count; i++)
    n += memcmp ((const char *) a + i * size, (const char *) b + i * size, size) != 0;
  return n;
}

/* Photograph and edges side by side, every 2 by 2 pixels made one.  */

static unsigned char *
side_by_side (const uint8_t *rgb, const uint8_t *edges, int width, int height)
{
  int half = width / 2, rows = height / 2;
  unsigned char *both = allocate ((size_t) 2 * half * rows, 3);
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < half; x++)
      for (int c = 0; c < 3; c++)
	{
	  const uint8_t *p = rgb + 3 * ((size_t) 2 * y * width + 2 * x) + c;
	  const uint8_t *e = edges + (size_t) 2 * y * width + 2 * x;
	  int bright = e[0] + e[1] + e[width] + e[width + 1];
	  both[3 * ((size_t) y * 2 * half + x) + c] = (p[0] + p[3] + p[3 * width] + p[3 * width + 3] + 2) / 4;
	  both[3 * ((size_t) y * 2 * half + half + x) + c] = bright / 2 > 255 ? 255 : bright / 2;
	}
  return both;
}

static int
write_picture (const char *path, const unsigned char *pixels, int width, int height, int channels)
{
  if (png_write (path, pixels, width, height, channels) == 0)
    return 0;
  fprintf (stderr, "canny: error: %s: %s\n", path, strerror (errno));
  return 1;
}

int
main (int argc, char **argv)
{
  int width, height, failed = 0;
  const char *why = NULL;
  if (argc < 3 || argc > 4)
    {
      fprintf (stderr, "usage: canny PHOTO.jpg EDGES.png [BOTH.png]\n");
      return 2;
    }
  uint8_t *rgb = jpeg_read (argv[1], &width, &height, &why);
  if (!rgb)
    {
      fprintf (stderr, "canny: error: %s: %s\n", argv[1], why);
      return 1;
    }
  size_t size = (size_t) width * height;
  struct planes device = new_planes (size), host = new_planes (size);
  struct report on_device[STAGES], on_host[STAGES];
  double begin = omp_get_wtime ();
  canny (rgb, width, height, LOW, HIGH, 1, &device, on_device);
  double device_time = omp_get_wtime () - begin;
  begin = omp_get_wtime ();
  canny (rgb, width, height, LOW, HIGH, 0, &host, on_host);
  double host_time = omp_get_wtime () - begin;

  long wrong[STAGES] = {
    different (device.grey, host.grey, size, 1),
    different (device.blurred, host.blurred, size, 1),
    different (device.magnitude, host.magnitude, size, 4) + different (device.direction, host.direction, size, 1),
    different (device.thin, host.thin, size, 4),
    0,				/* the next stage works in place */
    different (device.edges, host.edges, size, 1)
  };
  printf ("%s: %d x %d pixels\n", argv[1], width, height);
  printf ("%-12s %-8s %7s %10s %10s  %s\n", "stage", "ran on", "regions", "device ms", "host ms", "pixels that differ");
  for (int i = 0; i < STAGES; i++)
    {
      char where[24] = "the host";
      if (on_device[i].on_host == 0)
	snprintf (where, sizeof where, "device %d", omp_get_default_device ());
      printf ("%-12s %-8s %7d %10.2f %10.2f  ", stage_names[i], where, on_device[i].regions,
	      1e3 * on_device[i].seconds, 1e3 * on_host[i].seconds);
      if (i == THRESHOLD)
	printf ("(in place)\n");
      else
	printf ("%ld\n", wrong[i]);
      failed |= wrong[i] != 0;
    }
  long edge_pixels = 0;
  for (size_t i = 0; i < size; i++)
    edge_pixels += device.edges[i] == STRONG;
  printf ("whole pipeline: %.1f ms (host alone: %.1f ms), %ld edge pixels, %s the host's\n", 1e3 * device_time,
	  1e3 * host_time, edge_pixels, failed ? "DIFFERENT from" : "equal to");
  failed |= write_picture (argv[2], device.edges, width, height, 1);
  if (argc == 4)
    {
      unsigned char *both = side_by_side (rgb, device.edges, width, height);
      failed |= write_picture (argv[3], both, width / 2 * 2, height / 2, 3);
      free (both);
    }
  free_planes (&device);
  free_planes (&host);
  free (rgb);
  return failed;
}
