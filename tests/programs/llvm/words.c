/* Kernels with few words, which go with the request, and with more, which go by a block of memory.  */
#include <stdio.h>

#define WORDS(n, call, ...)                                                                                           \
  __attribute__ ((noinline)) static long sum_##n call                                                                 \
  {                                                                                                                   \
    long sum = 0;                                                                                                     \
    _Pragma ("omp target map(tofrom: sum)") sum = __VA_ARGS__;                                                        \
    return sum;                                                                                                       \
  }

WORDS (1, (void), 5)
WORDS (4, (long a, long b, long c), a - 2 * b + 3 * c)
WORDS (5, (long a, long b, long c, long d), a - 2 * b + 3 * c - 4 * d)
WORDS (6, (long a, long b, long c, long d, long e), a - 2 * b + 3 * c - 4 * d + 5 * e)
WORDS (7, (long a, long b, long c, long d, long e, long f), a - 2 * b + 3 * c - 4 * d + 5 * e - 6 * f)

int
main (void)
{
  double own[3] = {1, 2, 3}, got = 0;
  printf ("%ld %ld %ld %ld %ld\n", sum_1 (), sum_4 (1, 20, 300), sum_5 (1, 20, 300, 4000),
          sum_6 (1, 20, 300, 4000, 50000), sum_7 (1, 20, 300, 4000, 50000, 600000));
  #pragma omp target firstprivate(own) map(from: got)
  got = own[0] + own[2];
  printf ("%g\n", got);
}
