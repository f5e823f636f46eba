#include <stdio.h>
int a[40][40];
int main (void)
{
  #pragma omp target teams loop map(tofrom: a)
  for (int i = 0; i < 40; i++)
    {
      #pragma omp loop
      for (int j = 0; j < 40; j++)
        a[i][j] = i + j;
    }
  int wrong = 0;
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 40; j++)
      wrong += a[i][j] != i + j;
  printf ("%d wrong\n", wrong);
}
