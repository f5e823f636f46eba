/* check: right */
#include <stdio.h>

int main(void)
{
  int data[2048], bins[16] = { 0 };
  for (int i = 0; i < 2048; i++) data[i] = i * 7 % 16;
#pragma omp target teams distribute parallel for map(to: data) map(tofrom: bins)
  for (int i = 0; i < 2048; i++)
#pragma omp atomic
    bins[data[i]]++;
  printf("%d\n", bins[0] > 0);
  return 0;
}
