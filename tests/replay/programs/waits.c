#include <stdio.h>

/* A region in one queue waits for what another queue's region does.  */
int
main (void)
{
  static int flag[1], seen[1];
  int alone = 0, after = 1;
#pragma acc data copy(flag, seen)
  {
#pragma acc parallel num_gangs(1) copy(alone)
    alone = 3;
#pragma acc parallel num_gangs(1) present(flag, seen) async(1)
    {
      int now;
      do
        {
#pragma acc atomic read
          now = flag[0];
        }
      while (!now);
      seen[0] = now;
    }
#pragma acc parallel num_gangs(1) present(flag) async(2)
    {
#pragma acc atomic write
      flag[0] = 7;
    }
#pragma acc wait
#pragma acc parallel num_gangs(1) copy(after)
    after += 1;
  }
  printf ("%d %d %d\n", alone, seen[0], after);
  return 0;
}
