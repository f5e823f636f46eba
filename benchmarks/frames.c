/* frames PHOTO WIDTH HEIGHT COUNT: find the edges of COUNT pictures of that size on the default device, each the photograph
   scaled and moved on by a pixel.  A line for each: its number, milliseconds, those of its stages (without what the mappings of all
   stages copy), and the clock of the process's start.

   Exit status: 0; 1 if the first, the middle or the last picture's edges are not the host's.  */

#include "../examples/canny/canny.h"
#include "../examples/canny/jpeg.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOW 12
#define HIGH 30

static struct planes
new_planes (size_t size)
{
  struct planes p = { malloc (size), malloc (size), malloc (4 * size), malloc (size), malloc (4 * size), malloc (size) };
  if (!p.grey || !p.blurred || !p.magnitude || !p.direction || !p.thin || !p.edges)
    exit (1);
  return p;
}

int
main (int argc, char **argv)
{
  int width = argc > 2 ? atoi (argv[2]) : 0, height = argc > 3 ? atoi (argv[3]) : 0, count = argc > 4 ? atoi (argv[4]) : 0;
  int wide, high, wrong = 0;
  const char *why = "";
  uint8_t *photo = argc == 5 ? jpeg_read (argv[1], &wide, &high, &why) : NULL;
  if (!photo || width < 8 || height < 8 || count < 1)
    {
      fprintf (stderr, "usage: frames PHOTO WIDTH HEIGHT COUNT %s\n", why);
      return 2;
    }
  size_t size = (size_t) width * height;
  uint8_t *rgb = malloc (3 * size);
  struct planes device = new_planes (size), host = new_planes (size);
  struct report report[STAGES];
  double start = omp_get_wtime ();
  for (int frame = 0; frame < count; frame++)
    {
      for (int y = 0; y < height; y++)
	for (int x = 0; x < width; x++)
	  {
	    const uint8_t *from = photo + 3 * ((size_t) y * high / height * wide + ((size_t) x * wide / width + frame) % wide);
	    memcpy (rgb + 3 * ((size_t) y * width + x), from, 3);
	  }
      double begin = omp_get_wtime (), stages = 0;
      canny (rgb, width, height, LOW, HIGH, 1, &device, report);
      double end = omp_get_wtime ();
      for (int i = 0; i < STAGES; i++)
	stages += report[i].seconds;
      printf ("%d %.3f %.3f %.6f\n", frame, 1e3 * (end - begin), 1e3 * stages, begin - start);
      fflush (stdout);
      if (frame == 0 || frame == count / 2 || frame == count - 1)
	{
	  canny (rgb, width, height, LOW, HIGH, 0, &host, report);
	  wrong |= memcmp (device.edges, host.edges, size) != 0;
	}
    }
  return wrong;
}
