/* check: race best */
#include <stdio.h>

int main(void)
{
  int a[256], best = -1;
  for (int i = 0; i < 256; i++) a[i] = i * 37 % 256;
#pragma omp target parallel for num_threads(4) map(to: a) map(tofrom: best)
  for (int i = 0; i < 256; i++)
  {
    if (a[i] > best) best = a[i];
  }
  printf("%d\n", best > 0);
  return 0;
}
