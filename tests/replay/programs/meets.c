#include <stdio.h>

int flag, seen;
#pragma omp declare target (flag)

/* A region waits until another thread's region, or update, changes what it has found.  */
int
main (int argc, char **argv)
{
  int alone = 0, after = 1, over = 0;
  (void) argv;
#pragma omp target enter data map(to: seen)
#pragma omp target map(tofrom: alone)
  alone = 3;
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    {
#pragma omp target map(alloc: seen)
      {
        int first, now;
#pragma omp atomic read
        first = flag;
        do
          {
#pragma omp atomic read
            now = flag;
          }
        while (now == first);
        seen = now != first;
      }
#pragma omp atomic write
      over = 1;
    }
#pragma omp section
    {
      int end = 0;
      while (!end)
        {
          if (argc > 1)
            {
              flag++;
#pragma omp target update to(flag)
            }
          else
            {
#pragma omp target
              {
#pragma omp atomic update
                flag++;
              }
            }
#pragma omp atomic read
          end = over;
        }
    }
  }
#pragma omp target exit data map(from: seen)
#pragma omp target map(tofrom: after)
  after += 1;
  printf ("%d %d %d\n", alone, seen, after);
  return 0;
}
