/* check: right */
#include <stdio.h>

int main(void)
{
  int a[64], b[64];
  for (int i = 0; i < 64; i++) a[i] = b[i] = i;
#pragma omp target map(tofrom: a) map(from: b)
#pragma omp parallel num_threads(4)
  {
#pragma omp for
    for (int i = 0; i < 64; i++) a[i] *= 2;
#pragma omp for
    for (int i = 0; i < 64; i++) b[i] = a[63 - i];
  }
  printf("%d\n", b[3] == 120);
  return 0;
}
