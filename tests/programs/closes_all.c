/* closes_all HOW FILE: the program (HOW: program), or a region (region), closes all descriptors but the standard ones, has
   FILE open by many of their numbers, goes on with regions and large copies, and prints the device's process number.
   HOW exec: then it becomes "sleep 60" with the standard output closed.  */
#define _GNU_SOURCE
#include <fcntl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT (8 << 20)

int
main (int argc, char **argv)
{
  int pid = 0, wrong = 0;
  #pragma omp target map (from: pid)
  pid = getpid ();
  if (strcmp (argv[1], "region") == 0)
    {
      #pragma omp target
      closefrom (3);
    }
  else
    {
      closefrom (3);
      for (int i = 0; i < 20; i++)
        open (argv[2], O_RDWR);
    }
  for (int round = 0; round < 3; round++)
    {
      int *numbers = malloc (COUNT * sizeof (int));
      for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
      #pragma omp target map (tofrom: numbers[:COUNT])
      for (int i = 0; i < COUNT; i++)
        numbers[i]++;
      for (int i = 0; i < COUNT; i++)
        wrong += numbers[i] != i + 1;
      free (numbers);
    }
  printf ("%d %d %d\n", pid, wrong, pid != getpid ());
  fflush (stdout);
  if (strcmp (argv[1], "exec") == 0)
    {
      close (1);
      execlp ("sleep", "sleep", "60", NULL);
    }
  return 0;
}
