/* check: right */
#include <omp.h>
#include <stdio.h>

int main(void)
{
  int data = 0, flag = 0, out = 0;
#pragma omp target parallel num_threads(2) map(tofrom: data, flag, out)
  if (omp_get_thread_num() == 0)
  {
    data = 42;
#pragma omp atomic write release
    flag = 1;
  }
  else
  {
    int seen = 0;
    while (!seen)
    {
#pragma omp atomic read acquire
      seen = flag;
    }
    out = data;
  }
  printf("%d\n", out);
  return 0;
}
