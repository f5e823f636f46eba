#include <stdio.h>
int main (void)
{
  int wrong = 0;
  #pragma omp target teams distribute parallel for map(tofrom: wrong)
  for (int m = 0; m < 64; m++)
    {
      #pragma omp simd
      for (int i = 0; i < 64; i++)
        {
          volatile int c[8];
          for (int k = 0; k < 8; k++)
            c[k] = m + i + k;
          if (c[m % 8] != m + i + m % 8)
            wrong++;
        }
    }
  printf ("%d wrong\n", wrong);
}
