/* The device is used before fork by the parent and after exec by the child, which is the program once more.  */
/* { dg-do run } */
/* { gompy-launches 2 } */

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int
main (int argc, char **argv)
{
  int x = argc;
#pragma omp target map(tofrom: x)
  x += 40;
  if (argc == 2)
    return x == 42 ? 42 : 1;
  if (x != 41)
    abort ();
  pid_t child = fork ();
  if (child == 0)
    {
      execl (argv[0], argv[0], "child", (char *) 0);
      _exit (9);
    }
  int status;
  if (waitpid (child, &status, 0) != child || !WIFEXITED (status) || WEXITSTATUS (status) != 42)
    abort ();
  return 0;
}
