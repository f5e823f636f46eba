/* check: stale-device a */
#include <stdio.h>

static float a[2048];

int main(void)
{
  float sum = 0;
#pragma omp target enter data map(to: a)
  for (int i = 0; i < 2048; i++) a[i] = 1;
#pragma omp target map(to: a) map(tofrom: sum)
  for (int i = 0; i < 2048; i++) sum += a[i];
#pragma omp target exit data map(release: a)
  printf("%g\n", sum);
  return 0;
}
