/* check: unset a */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define N (1 << 17)
#define FILLED (1 << 16)

/* The first thread fills half of the array.  Another one then reads beyond that, before the first fills the rest.  */
int main(void)
{
  int *a = malloc(N * sizeof *a), sum = 0;
#pragma omp target parallel num_threads(2) map(from: a[0:N]) map(tofrom: sum)
  {
    if (omp_get_thread_num() == 0)
      for (int i = 0; i < FILLED; i++) a[i] = i;
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) sum += a[FILLED + 24000];
#pragma omp barrier
    if (omp_get_thread_num() == 0)
      for (int i = FILLED; i < N; i++) a[i] = i;
  }
  printf("%d\n", a[5] + (sum > 0));
  free(a);
  return 0;
}
