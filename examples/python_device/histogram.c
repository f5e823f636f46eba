/* Counts the letters of its arguments on a device; exit status 0 if the counts are those of the host.

     gompcc -O2 -fopenmp histogram.c -o histogram
     GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=tracer.py:Tracer ./histogram to be or not to be  */

#include <omp.h>
#include <stdio.h>
#include <string.h>

#pragma omp declare target
int counts[256];		/* stays on the device from one region to the next */
#pragma omp end declare target

int
main (int argc, char **argv)
{
  int expected[256] = { 0 }, on_host = 0;
  for (int a = 1; a < argc; a++)
    {
      const char *word = argv[a];
      int n = strlen (word);
      for (int i = 0; i < n; i++)
	expected[(unsigned char) word[i]]++;
#pragma omp target map(to: word[:n]) map(tofrom: on_host)
      {
	for (int i = 0; i < n; i++)
	  counts[(unsigned char) word[i]]++;
	on_host += omp_is_initial_device ();
      }
    }
#pragma omp target update from(counts)
  for (int c = 0; c < 256; c++)
    if (counts[c])
      printf ("%c %d\n", c, counts[c]);
  printf ("%d regions on the host\n", on_host);
  return memcmp (counts, expected, sizeof counts) != 0;
}
