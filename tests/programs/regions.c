#include <stdio.h>
#include <math.h>
#define N 1000
#pragma omp declare target
static float half (float x) { return x / 2; }
int table[4] = {1, 2, 3, 4};
#pragma omp end declare target
struct image { int w, h; float *p; };
int main (void)
{
  float x[N], y[N], a = 3;
  int n = N;
  double sum = 0;
  for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
#pragma omp target teams distribute parallel for map(to: x) map(tofrom: y) firstprivate(a)
  for (int i = 0; i < n; i++)
    y[i] = a * half (x[i]) + y[i];
  float *p = x;
#pragma omp target data map(to: p[0:n])
  {
#pragma omp target parallel for reduction(+: sum) map(tofrom: sum)
    for (int i = 0; i < n; i++)
      sum += p[i] * table[i & 3];
  }
  struct image im = { 10, 10, x };
#pragma omp target map(to: im, im.p[0:100]) map(tofrom: sum) if(n > 3)
  for (int j = 0; j < im.h; j++)
    for (int i = 0; i < im.w; i++)
      sum += im.p[j * im.w + i];
#pragma omp target enter data map(to: x)
#pragma omp target update from(x[0:5])
#pragma omp target exit data map(delete: x)
  printf ("%f %f\n", y[3], sum);
  return 0;
}
