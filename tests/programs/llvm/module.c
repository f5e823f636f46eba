/* A program, and with -DMODULE the library that it opens, closes and opens again: the library's images come and go.  */
#include <stdio.h>

#ifdef MODULE
#pragma omp declare target
int counter = 5;
#pragma omp end declare target

int
count (void)
{
  int there = 0;
  #pragma omp target map(from: there)
  there = ++counter;
  return there;
}
#else
#include <dlfcn.h>

int
main (int argc, char **argv)
{
  for (int i = 0; i < 2; i++)
    {
      void *library = dlopen (argv[1], RTLD_NOW);
      int (*count) (void) = (int (*) (void)) dlsym (library, "count");
      printf ("%d", count ());
      printf (" %d\n", count ());
      dlclose (library);
    }
}
#endif
