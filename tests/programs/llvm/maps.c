/* An empty region; maps of all directions; a scalar and an array of the region's own; enter, update, exit.  */
#include <omp.h>
#include <stdio.h>

#define N 1000

int main(void)
{
  int a[N], b[N], c[N], own[4] = {1, 2, 3, 4}, factor = 3, on_device = 0;
  for (int i = 0; i < N; i++)
    a[i] = i, b[i] = 2 * i, c[i] = -1;
#pragma omp target
  {
  }
#pragma omp target map(to : a) map(tofrom : b) map(from : c, on_device) firstprivate(own, factor)
  {
    on_device = !omp_is_initial_device();
    own[0] = 100;
    for (int i = 0; i < N; i++)
      {
        c[i] = factor * a[i] + own[3] + own[0];
        b[i] += a[i];
        a[i] = 0;
      }
  }
  printf("%d %d %d %d %d %d\n", on_device, own[0], a[N - 1], b[N - 1], c[0], c[N - 1]);

  int *p = b;
#pragma omp target enter data map(to : p[0 : N])
  b[5] = 7;
#pragma omp target map(p[0 : N])
  p[5] += 1;
  printf("%d", b[5]);
#pragma omp target update to(p[5 : 1])
#pragma omp target map(p[0 : N])
  p[5] += 1;
#pragma omp target update from(p[0 : N])
  printf(" %d %d", b[5], omp_target_is_present(b, 0));
#pragma omp target exit data map(release : p[0 : N])
  printf(" %d\n", omp_target_is_present(b, 0));
  return 0;
}
