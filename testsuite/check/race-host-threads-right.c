/* check: right */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *other(void *p)
{
  sleep(5);
  return p;
}
int main(void)
{
  static int a[4096];
  pthread_t t;
  pthread_create(&t, NULL, other, NULL);
#pragma omp target map(tofrom: a) nowait
  for (int k = 0; k < 200; k++)
    for (int i = 0; i < 4096; i++) a[i] += k;
#pragma omp taskwait
  a[10] = 5;
  printf("%d\n", a[1]);
  return 0;
}
