#include <stdio.h>

int
main (void)
{
  int got[16] = { 0 }, wrong = 0;
#pragma omp parallel for num_threads(4) schedule(static, 1)
  for (int i = 0; i < 16; i++)
    {
      int v[4] = { i };
#pragma omp target map(tofrom: v)
      v[0] = 2 * v[0] + 1;
      got[i] = v[0];
    }
  for (int i = 0; i < 16; i++)
    wrong += got[i] != 2 * i + 1;
  printf ("%d\n", wrong);
  return wrong;
}
