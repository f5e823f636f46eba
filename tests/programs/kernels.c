/* Regions of which kernels can be made, each with something that C and OpenCL C say differently; and some of which
   none can be made.  */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#define N 100
typedef unsigned char byte;
typedef struct { int w, h; float *p; } image;
static int twice (const int *v, int i) { return 2 * v[i]; }
static float half (float x) { return x / 2; }
static float faded (image im, int x, int y) { return half (im.p[y * im.w + x]) + sqrt (im.p[x]) / 3; }
static int limit = 3;
int main (void)
{
  static int a[N], b[N][8];
  static byte bytes[N];
  static float px[N];
  double sum = 0, product = 1;
  int least = 1000, most = -1000, n = N;
  unsigned long bits = 0;
  int all = 5, any = 0;
  for (int i = 0; i < N; i++)
    a[i] = i * 37 % 101 - 50, px[i] = i + 0.25f, bytes[i] = i * 5;
  int *p = a;
  image im = { 10, 10, px };

#pragma omp target teams distribute parallel for collapse(2) map(tofrom: b) map(to: p[0:n])
  for (int i = N - 1; i >= 0; i--)
    for (long j = 0; j < 8; j += 2)
      {
	if (j == 4)
	  continue;
	b[i][j] = twice (p, i) - abs (p[i]) % 7;
	b[i][j + 1] = abs (p[i]) - 60 < 0;
      }
#pragma omp target teams distribute parallel for reduction(+: sum) reduction(min: least) reduction(max: most) \
	reduction(|: bits) map(tofrom: sum, least, most, bits) map(to: a, bytes) reduction(&&: all) reduction(||: any) \
	map(tofrom: all, any)
  for (unsigned i = 0; i < N; ++i)
    {
      double half = a[i];
      sum += half * 0.5;
      least = a[i] < least ? a[i] : least;
      most = a[i] > most ? a[i] : most;
      bits |= 1ul << (bytes[i] & 63);
      all = all && a[i] < 1000;
      any = any || a[i] == 7;
    }
#pragma omp target map(to: im, im.p[0:n]) map(tofrom: product)
  for (int y = 0; y < im.h; y++)
    for (int x = 0; x < im.w; x++)
      product = fmod (product * faded (im, x, y) + 1, 1000.0);
#pragma omp target parallel for map(tofrom: p[20:30])
  for (int i = 20; i < 50; i++)
    p[i] = i;
#pragma omp target map(tofrom: a)
  {
    a[0] = limit;
    a[1] = omp_get_num_teams ();
  }
#pragma omp target parallel map(tofrom: a)
  a[2] = 9;

  long hash = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < 8; j++)
      hash = hash * 31 + b[i][j] + a[i];
  printf ("%ld %.17g %d %d %lu %.17g %d %d\n", hash, sum, least, most, bits, product, all, any);
  return 0;
}
