/* Variables of the bodies of simd loops: 32 lanes of a warp run iterations side by side.  Each region tells how many of
   its results are wrong.  WARNS adds one whose mistake can only be told.  */
#include <stdio.h>
#include <string.h>
#define N 1024
unsigned char d[16 * N];
int r[N], e[N], n = 5;
#pragma omp declare target to(d)

static inline int counted (int i)
{
  int c[3] = { 1, 1, 1 };
  for (int m = 0; m < 16; m++) c[d[m * N + i]]++;
  return c[0] + 100 * c[1] + 10000 * c[2];
}

#pragma omp declare target
__attribute__ ((noinline)) int deep (int i, int n)
{
  int b[200];
  for (int k = 0; k < 200; k++) b[k] = i + k * n;
  return b[i % 200];
}
__attribute__ ((noinline)) long odd_place (int i)
{
  __attribute__ ((aligned (16))) char t[48];
  for (int k = 0; k < 48; k++) t[k] = i;
  char *volatile place = t; /* what gcc takes for granted is asked for */
  return (unsigned long) place % 16 + (place[i % 48] != (char) i);
}
#pragma omp end declare target

static void check (const char *name)
{
  int bad = 0;
  for (int i = 0; i < N; i++) bad += r[i] != e[i];
  printf ("%s: %d wrong\n", name, bad);
  memset (r, 0, sizeof r);
}

int main (void)
{
  for (int i = 0; i < 16 * N; i++) d[i] = (i * 2654435761u >> 13) % 3;
#pragma omp target update to(d)
  for (int i = 0; i < N; i++) e[i] = counted (i);

#pragma omp target teams distribute parallel for simd map(from: r)
  for (int i = 0; i < N; i++)
    {
      int c[3] = { 1, 1, 1 };
      for (int m = 0; m < 16; m++) c[d[m * N + i]]++;
      r[i] = c[0] + 100 * c[1] + 10000 * c[2];
    }
  check ("once");
#pragma omp target simd map(from: r)
  for (int i = 0; i < N; i++)
    {
      int c[3] = { 1, 1, 1 };
      for (int m = 0; m < 16; m++) c[d[m * N + i]]++;
      r[i] = c[0] + 100 * c[1] + 10000 * c[2];
    }
  check ("calls nothing");
#pragma omp target teams distribute parallel for map(from: r)
  for (int k = 0; k < N / 64; k++)
#pragma omp simd
    for (int i = 64 * k; i < 64 * k + 64; i++)
      {
        int c[3] = { 1, 1, 1 };
        for (int m = 0; m < 16; m++) c[d[m * N + i]]++;
        r[i] = c[0] + 100 * c[1] + 10000 * c[2];
      }
  check ("in a loop");
#pragma omp target teams distribute parallel for map(from: r)
  for (int k = 0; k < N / 64; k++)
#pragma omp simd
    for (int i = 64 * k; i < 64 * k + 64; i++) r[i] = counted (i);
  check ("in a function");
#pragma omp target map(from: r)
  {
    int t[N];
#pragma omp simd
    for (int i = 0; i < N; i++) t[i] = i;
#pragma omp simd
    for (int i = 0; i < N; i++) r[i] = t[N - 1 - i] - N + 1 + i + counted (i);
  }
  check ("shared by two loops");
#pragma omp target map(from: r)
  {
    int t[N];
#pragma omp simd
    for (int i = 0; i < N; i++) t[i] = i;
    for (int i = 0; i < N; i++) r[i] = t[N - 1 - i] - N + 1 + i + counted (i);
  }
  check ("used after the loop");
#pragma omp target map(from: r)
  {
    int t[N];
    for (int i = 0; i < N; i++) t[i] = i;
#pragma omp simd
    for (int i = 0; i < N; i++) r[i] = t[N - 1 - i] - N + 1 + i + counted (i);
  }
  check ("made before the loop");

  int a[N];
  for (int i = 0; i < N; i++) e[i] = 2 * i + 1;
#pragma omp target teams loop map(from: r) private(a)
  for (int i = 0; i < N; i++) { a[i] = 2 * i + 1; r[i] = a[i]; }
  check ("private array");
  for (int i = 0; i < N; i++) e[i] = deep (i, n) + 7 * i;
#pragma omp target teams distribute parallel for simd map(from: r) private(a)
  for (int i = 0; i < N; i++)
    {
      for (int k = 0; k < 8; k++) a[k * n] = k * i;
      r[i] = deep (i, n);
      r[i] += a[7 * n];
    }
  check ("deep calls");
  long b[5]; /* an odd multiple of 8 bytes: below it begins the stack of what is called */
  for (int i = 0; i < N; i++) e[i] = i % 5;
#pragma omp target teams distribute parallel for simd map(from: r) private(b)
  for (int i = 0; i < N; i++)
    {
      for (int k = 0; k < 5; k++) b[k] = odd_place (k * n) + k;
      r[i] = b[i % 5];
    }
  check ("aligned variables");
#ifdef WARNS
#pragma omp target teams distribute parallel for map(from: r)
  for (int k = 0; k < N / 64; k++)
#pragma omp simd
    for (int i = 64 * k; i < 64 * k + 64; i++)
      {
        int c[16], s = 0;
        for (int m = 0; m < n; m++)
          c[m] = d[m] + i;
        for (int m = 0; m < n; m++) s += c[m];
        r[i] = s;
      }
#endif
  return 0;
}
