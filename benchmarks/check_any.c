/* What a region costs, for `gompy run --check`: processor time of the program and of its devices.

   `check_any SHAPE N OPERATIONS ROUNDS` prints nanoseconds for one region, which reads an array of N floats and writes
   another.  SHAPE: `present`, the arrays are mapped around all regions; `mapped`, by each region; `used`, mapped around
   all, and the host writes one and reads the other between two regions, with updates.  */

#include "processor_time.h"
#include <stdlib.h>
#include <string.h>

static float *in, *out, sum;
static int n, operations;

static void
region (void)
{
  #pragma omp target teams distribute parallel for map(to: in[:n]) map(from: out[:n])
  for (int i = 0; i < n; i++)
    {
      float x = in[i];
      for (int k = 0; k < operations; k++)
	x = x * 0.5f + 1.0f;
      out[i] = x;
    }
}

static void
use (void)
{
  for (int i = 0; i < n; i++)
    in[i] += 1;
  #pragma omp target update to(in[:n])
  region ();
  #pragma omp target update from(out[:n])
  for (int i = 0; i < n; i++)
    sum += out[i];
}

int
main (int argc, char **argv)
{
  const char *shape = argc == 5 ? argv[1] : "";
  double found;
  if (argc != 5)
    return 2;
  n = atoi (argv[2]);
  operations = atoi (argv[3]);
  in = malloc (n * sizeof *in);
  out = malloc (n * sizeof *out);
  for (int i = 0; i < n; i++)
    in[i] = out[i] = i;
  if (strcmp (shape, "mapped") == 0)
    found = measure (region, atoi (argv[4]));
  else
    {
      #pragma omp target data map(to: in[:n]) map(from: out[:n])
      found = measure (strcmp (shape, "used") == 0 ? use : region, atoi (argv[4]));
    }
  printf ("%.0f\n", found);
  return sum < 0;
}
