/* How often the thread of the emulated driver's stream sleeps while regions are launched one after another.
   The argument: how many.  */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long
sleeps (void)
{
  DIR *tasks = opendir ("/proc/self/task");
  long sum = 0;
  for (struct dirent *task; (task = readdir (tasks));)
    {
      char path[300], line[200];
      int is_stream = 0;
      snprintf (path, sizeof path, "/proc/self/task/%s/status", task->d_name);
      FILE *f = fopen (path, "r");
      while (f && fgets (line, sizeof line, f))
	if (!strncmp (line, "Name:", 5))
	  is_stream = strstr (line, "gompy-stream") != NULL;
	else if (is_stream && !strncmp (line, "voluntary_ctxt_switches:", 24))
	  sum += atol (line + 24);
      if (f)
	fclose (f);
    }
  closedir (tasks);
  return sum;
}

static void
launch (long times)
{
  for (long i = 0; i < times; i++)
    {
#pragma omp target
      ;
    }
}

int
main (int argc, char **argv)
{
  launch (1000);
  long before = sleeps ();
  launch (atol (argv[1]));
  printf ("%ld\n", sleeps () - before);
  return argc != 2;
}
