/* Constructs in `loop` and `simd`: GCC's nvptx compiler gives those that are marked WARNS to lanes that are shared out.  */
#include <stdio.h>
#define N 40
int a[N][N];

#pragma omp declare target
__attribute__ ((noinline)) static void
row (int *r, int i)
{
  #pragma omp simd
  for (int j = 0; j < N; j++)
    r[j] = i + j;
}

__attribute__ ((noinline)) static void
plain (int *r, int i)
{
  for (int j = 0; j < N; j++)
    r[j] = i + j;
}
#pragma omp end declare target

static void
check (const char *name)
{
  int wrong = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      {
        wrong += a[i][j] != i + j;
        a[i][j] = -1;
      }
  printf ("%s: %d wrong\n", name, wrong);
}

int
main (void)
{
#ifdef WARNS
  #pragma omp target teams loop map(tofrom: a)
  for (int i = 0; i < N; i++)
    {
      #pragma omp loop
      for (int j = 0; j < N; j++)
        a[i][j] = i + j; /* WARNS: loop in loop */
    }
  #pragma omp target teams loop map(tofrom: a)
  for (int i = 0; i < N; i++)
    row (a[i], i); /* WARNS: a call */
  #pragma omp target map(tofrom: a)
  {
    void (*kept[2]) (int *, int) = { plain, plain };
    kept[a[0][0] & 1] = row;
    #pragma omp simd
    for (int i = 0; i < N; i++)
      kept[i & 1] (a[i], i); /* WARNS: a call of what the frame keeps */
  }
#else
  #pragma omp target teams distribute parallel for map(tofrom: a)
  for (int i = 0; i < N; i++)
    {
      #pragma omp simd
      for (int j = 0; j < N; j++)
        a[i][j] = i + j;
    }
  check ("simd in parallel for");
  #pragma omp target teams loop map(tofrom: a)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      a[i][j] = i + j;
  check ("no construct in loop");
  #pragma omp target teams loop collapse(2) map(tofrom: a)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      a[i][j] = i + j;
  check ("collapse");
  #pragma omp target teams loop map(tofrom: a)
  for (int i = 0; i < N; i++)
    plain (a[i], i);
  check ("call of plain code");
  #pragma omp target teams distribute parallel for map(tofrom: a)
  for (int i = 0; i < N; i++)
    row (a[i], i);
  check ("call in parallel for");
  #pragma omp target map(tofrom: a)
  for (int i = 0; i < N; i++)
    {
      #pragma omp simd
      for (int j = 0; j < N / 2; j++)
        a[i][j] = i + j;
      #pragma omp simd
      for (int j = N / 2; j < N; j++)
        a[i][j] = i + j;
    }
  check ("one after the other");
  #pragma omp target map(tofrom: a)
  {
    void (*kept[2]) (int *, int) = { plain, plain };
    kept[a[0][0] & 1] = plain;
    #pragma omp simd
    for (int i = 0; i < N; i++)
      kept[i & 1] (a[i], i);
  }
  check ("calls of plain code that the frame keeps");
#endif
}
