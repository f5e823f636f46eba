/* Regions of OpenACC that are waited for, that are not, and on the host; data directives.  */
#include <openacc.h>
#include <stdio.h>
static int table[1000];

static void
square (void)
{
  for (int times = 0; times < 3; times++)
#pragma acc parallel loop present (table)
    for (int i = 0; i < 1000; i++)
      table[i] *= times == 2 ? 1 : table[i];
}

int main (void)
{
  table[0] = 2;
#pragma acc enter data copyin (table)
  square ();
  int add = 0, host;
#pragma acc update self (table)
#pragma acc parallel loop present (table) async (1)
  for (int i = 0; i < 1000; i++)
    table[i] += add;
  host = 1;
  acc_wait_all ();
#pragma acc exit data delete (table)
  int on_host = 0;
#pragma acc parallel copy (on_host) if (!host)
  on_host = 1;
  printf ("%d %d\n", table[0], on_host);
}
