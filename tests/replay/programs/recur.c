#include <stdio.h>

int
main (void)
{
  float last[4] = { 0, 0.1f, 0, 0 };
  int count = 0;
#pragma omp target map(tofrom: last, count)
  for (int i = 0; i < 40; i++)
    {
      float *volatile p = last;
      p[1] = 0;
      count++;
      p[1] = i;
      p[2] = p[2] * 0.9f + i * 0.1f;
      p[3] = p[2];
    }
  printf ("%d %.9g\n", count, last[2]);
}
