/* 30 regions that count, with output on the host and in the regions, and a data environment around them.  What came of
   it is appended to the file that is named.  */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  int wrong = 0, on_device = 0, kept = 0;
  char *noise = malloc (100000);
  struct stat status;
  int opened = 0;
  for (int i = 0; i < 3; i++)
    opened |= (fstat (i, &status) == 0) << i;
  memset (noise, 'x', 100000);
  setvbuf (stdout, NULL, _IONBF, 0);
  #pragma omp target data map (tofrom: kept)
  for (int i = 0; i < 30; i++)
    {
      int x = i;
      fwrite (noise, 1, 100000, stdout);
      fwrite (noise, 1, 1000, stderr);
      if (fgetc (stdin) != EOF)
        wrong++;
      #pragma omp target map (tofrom: x, kept) map (from: on_device)
      {
        x++;
        kept++;
        on_device = !omp_is_initial_device ();
        for (int j = 0; j < 50; j++)
          printf ("%s", "yyyyyyyyyyyyyyyyyyy\n");
      }
      wrong += x != i + 1;
    }
  wrong += kept != 30;
  for (int i = 0; i < 3; i++)
    if ((fstat (i, &status) == 0) != (opened >> i & 1))
      wrong += 1000;
  FILE *result = fopen (argv[1], "w");
  if (result == NULL)
    return 2;
  fprintf (result, "wrong %d on device %d\n", wrong, on_device);
  fclose (result);
  return wrong != 0;
}
