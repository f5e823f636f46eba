/* The work of kernels.h by OpenMP, on plain loops.  */
#include <stdlib.h>
#include <string.h>

#define FOR _Pragma ("omp parallel for") for

void
vadd_twin (const float *a, const float *b, float *c, int n)
{
  FOR (int i = 0; i < n; i++)
    c[i] = a[i] + b[i];
}

void
stencil_twin (const float *a, float *b, int n)
{
  FOR (int y = 1; y < n - 1; y++)
    for (int x = 1; x < n - 1; x++)
      b[y * n + x] = 0.2f * (a[y * n + x] + a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]);
}

void
hist_twin (const unsigned *a, int *bins, int n)
{
#pragma omp parallel for reduction(+ : bins[:256])
  for (int i = 0; i < n; i++)
    bins[a[i] & 255]++;
}

void
sgemm_twin (const float *a, const float *b, float *c, int n)
{
  FOR (int i = 0; i < n; i++)
    {
      for (int j = 0; j < n; j++)
        c[i * n + j] = 0;
      for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
          c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void
transpose_twin (const float *a, float *b, int n)
{
  FOR (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      b[i * n + j] = a[j * n + i];
}

void
scan_twin (const int *a, int *b, int *sums, int n)
{
  FOR (int block = 0; block < n / 256; block++)
    {
      int sum = 0;
      for (int i = block * 256; i < block * 256 + 256; i++)
        b[i] = sum += a[i];
      sums[block] = sum;
    }
}

void
reduce_twin (const float *a, float *sums, int n)
{
  FOR (int block = 0; block < n / 256; block++)
    {
      float sum = 0;
      for (int i = block * 256; i < block * 256 + 256; i++)
        sum += a[i];
      sums[block] = sum;
    }
}

void
spmv_twin (const int *start, const int *column, const float *value, const float *x, float *y, int n)
{
  FOR (int i = 0; i < n; i++)
    {
      float sum = 0;
      for (int k = start[i]; k < start[i + 1]; k++)
        sum += value[k] * x[column[k]];
      y[i] = sum;
    }
}

void
gather_twin (const int *where, const float *a, float *b, int n)
{
  FOR (int i = 0; i < n; i++)
    b[i] = a[where[i]];
}

void
bfs_twin (const int *start, const int *edge, const int *level, int *next, int now, int n)
{
  FOR (int i = 0; i < n; i++)
    if (level[i] == now)
      for (int k = start[i]; k < start[i + 1]; k++)
        if (level[edge[k]] < 0)
          next[edge[k]] = now + 1;
}

void
ode_twin (const float *a, float *b, int steps, int n)
{
  FOR (int block = 0; block < n; block++)
    {
      float x = a[block], y = 1, h = 0.001f;
      for (int i = 0; i < steps; i++)
        {
          float k1 = y, l1 = (1 - x * x) * y - x;
          float k2 = y + h / 2 * l1, x2 = x + h / 2 * k1, l2 = (1 - x2 * x2) * k2 - x2;
          x += h * (k1 + k2) / 2;
          y += h * (l1 + l2) / 2;
        }
      b[block] = x + y;
    }
}

void
lu_twin (float *a, int n)
{
  FOR (int block = 0; block < n / 16; block++)
    {
      float *t = a + (size_t) block * 16 * n + block * 16;
      for (int i = 0; i < 15; i++)
        for (int r = i + 1; r < 16; r++)
          {
            t[r * n + i] /= t[i * n + i];
            for (int j = i + 1; j < 16; j++)
              t[r * n + j] -= t[r * n + i] * t[i * n + j];
          }
    }
}

void
wavefront_twin (const int *a, int *b, int n)
{
  FOR (int block = 0; block < n / 32 * (n / 32); block++)
    {
      int t[33][33], at = block / (n / 32) * 32 * n + block % (n / 32) * 32;
      for (int i = 0; i < 33; i++)
        t[i][0] = t[0][i] = -i;
      for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++)
          {
            int best = t[y][x] + a[at + y * n + x], left = t[y + 1][x] - 1, up = t[y][x + 1] - 1;
            best = best > left ? best : left;
            b[at + y * n + x] = t[y + 1][x + 1] = best > up ? best : up;
          }
    }
}

void
median_twin (const float *a, float *b, int n)
{
  FOR (int y = 1; y < n - 1; y++)
    for (int x = 1; x < n - 1; x++)
      {
        float own[9];
        int k = 0, j;
        for (int i = -1; i < 2; i++)
          for (j = -1; j < 2; j++)
            own[k++] = a[(y + i) * n + x + j];
        for (int i = 1; i < 9; i++)
          {
            float v = own[i];
            for (j = i - 1; j >= 0 && own[j] > v; j--)
              own[j + 1] = own[j];
            own[j + 1] = v;
          }
        b[y * n + x] = own[4];
      }
}

void
divide_twin (const unsigned *a, unsigned *b, unsigned d, int n)
{
  FOR (int i = 0; i < n; i++)
    b[i] = a[i] / (a[i] % d + 1);
}

void
count_twin (const unsigned *a, int *total, int n)
{
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; i++)
    sum += a[i] & 1;
  *total += sum;
}
