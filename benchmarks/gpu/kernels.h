/* The kernels of `make bench-gpu`: CUDA C++ and OpenCL C from one text.  twins.c has the same work in OpenMP.  */
#ifdef __OPENCL_VERSION__
#define KERNEL __kernel void
#define DEVICE
#define G __global
#define SHARED __local
#define TX ((int) get_local_id (0))
#define TY ((int) get_local_id (1))
#define BX ((int) get_group_id (0))
#define BY ((int) get_group_id (1))
#define DX ((int) get_local_size (0))
#define DY ((int) get_local_size (1))
#define SYNC() barrier (CLK_LOCAL_MEM_FENCE)
#define ATOMIC_ADD(p, v) atomic_add (p, v)
#define RESTRICT restrict
#else
#define KERNEL extern "C" __global__ void
#define DEVICE __device__
#define G
#define SHARED __shared__
#define TX ((int) threadIdx.x)
#define TY ((int) threadIdx.y)
#define BX ((int) blockIdx.x)
#define BY ((int) blockIdx.y)
#define DX ((int) blockDim.x)
#define DY ((int) blockDim.y)
#define SYNC() __syncthreads ()
#define ATOMIC_ADD(p, v) atomicAdd (p, v)
#define RESTRICT __restrict__
#endif

KERNEL
vadd (G const float *a, G const float *b, G float *c, int n)
{
  int i = BX * DX + TX;
  if (i < n)
    c[i] = a[i] + b[i];
}

KERNEL
vadd4 (G const float4 *a, G const float4 *b, G float4 *c, int n)
{
  int i = BX * DX + TX;
  if (i < n)
    {
      float4 x = a[i], y = b[i];
      x.x += y.x; x.y += y.y; x.z += y.z; x.w += y.w;
      c[i] = x;
    }
}

KERNEL
stencil (G const float *a, G float *b, int n)
{
  int x = BX * DX + TX, y = BY * DY + TY;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
    b[y * n + x] = 0.2f * (a[y * n + x] + a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]);
}

#define TILE 16
KERNEL
stencils (G const float *a, G float *b, int n)
{
  SHARED float t[TILE + 2][TILE + 2];
  int x = BX * TILE + TX, y = BY * TILE + TY;
  t[TY + 1][TX + 1] = a[y * n + x];
  if (TX == 0)
    t[TY + 1][0] = x > 0 ? a[y * n + x - 1] : 0;
  if (TX == TILE - 1)
    t[TY + 1][TILE + 1] = x < n - 1 ? a[y * n + x + 1] : 0;
  if (TY == 0)
    t[0][TX + 1] = y > 0 ? a[(y - 1) * n + x] : 0;
  if (TY == TILE - 1)
    t[TILE + 1][TX + 1] = y < n - 1 ? a[(y + 1) * n + x] : 0;
  SYNC ();
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
    b[y * n + x] = 0.2f * (t[TY + 1][TX + 1] + t[TY + 1][TX] + t[TY + 1][TX + 2] + t[TY][TX + 1] + t[TY + 2][TX + 1]);
}

KERNEL
hist (G const unsigned *a, G int *bins, int n)
{
  int i = BX * DX + TX;
  if (i < n)
    ATOMIC_ADD (&bins[a[i] & 255], 1);
}

KERNEL
hists (G const unsigned *a, G int *bins, int n)
{
  SHARED int own[256];
  own[TX] = 0;
  SYNC ();
  for (int k = 0; k < 16; k++)
    {
      int i = (BX * 16 + k) * 256 + TX;
      if (i < n)
        ATOMIC_ADD (&own[a[i] & 255], 1);
    }
  SYNC ();
  ATOMIC_ADD (&bins[TX], own[TX]);
}

KERNEL
sgemm (G const float *a, G const float *b, G float *c, int n)
{
  SHARED float s[TILE][TILE], t[TILE][TILE];
  int row = BY * TILE + TY, column = BX * TILE + TX;
  float sum = 0;
  for (int m = 0; m < n / TILE; m++)
    {
      s[TY][TX] = a[row * n + m * TILE + TX];
      t[TY][TX] = b[(m * TILE + TY) * n + column];
      SYNC ();
      for (int k = 0; k < TILE; k++)
        sum += s[TY][k] * t[k][TX];
      SYNC ();
    }
  c[row * n + column] = sum;
}

KERNEL
sgemmn (G const float *a, G const float *b, G float *c, int n)
{
  int row = BY * DY + TY, column = BX * DX + TX;
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

KERNEL
transpose (G const float *a, G float *b, int n)
{
  SHARED float t[32][33];
  for (int j = TY; j < 32; j += DY)
    t[j][TX] = a[(BY * 32 + j) * n + BX * 32 + TX];
  SYNC ();
  for (int j = TY; j < 32; j += DY)
    b[(BX * 32 + j) * n + BY * 32 + TX] = t[TX][j];
}

KERNEL
scan (G const int *a, G int *b, G int *sums, int n)
{
  SHARED int t[2][256];
  int now = 0, i = BX * 256 + TX;
  t[0][TX] = i < n ? a[i] : 0;
  SYNC ();
  for (int step = 1; step < 256; step *= 2)
    {
      t[1 - now][TX] = TX >= step ? t[now][TX] + t[now][TX - step] : t[now][TX];
      now = 1 - now;
      SYNC ();
    }
  if (i < n)
    b[i] = t[now][TX];
  if (TX == 255)
    sums[BX] = t[now][TX];
}

KERNEL
reduce (G const float *a, G float *sums, int n)
{
  SHARED float t[256];
  int i = BX * 256 + TX;
  t[TX] = i < n ? a[i] : 0;
  SYNC ();
  for (int step = 128; step > 0; step /= 2)
    {
      if (TX < step)
        t[TX] += t[TX + step];
      SYNC ();
    }
  if (TX == 0)
    sums[BX] = t[0];
}

KERNEL
spmv (G const int *start, G const int *column, G const float *value, G const float *x, G float *y, int n)
{
  int i = BX * DX + TX;
  if (i < n)
    {
      float sum = 0;
      for (int k = start[i]; k < start[i + 1]; k++)
        sum += value[k] * x[column[k]];
      y[i] = sum;
    }
}

KERNEL
gather (G const int *where, G const float *a, G float *b, int n)
{
  int i = BX * DX + TX;
  if (i < n)
    b[i] = a[where[i]];
}

KERNEL
bfs (G const int *start, G const int *edge, G const int *level, G int *next, int now, int n)
{
  int i = BX * DX + TX;
  if (i < n && level[i] == now)
    for (int k = start[i]; k < start[i + 1]; k++)
      if (level[edge[k]] < 0)
        next[edge[k]] = now + 1;
}

/* One thread a block: independent trajectories of a stiff system, by Runge-Kutta.  */
KERNEL
ode (G const float *a, G float *b, int steps)
{
  if (TX == 0)
    {
      float x = a[BX], y = 1, h = 0.001f;
      for (int i = 0; i < steps; i++)
        {
          float k1 = y, l1 = (1 - x * x) * y - x;
          float k2 = y + h / 2 * l1, x2 = x + h / 2 * k1, l2 = (1 - x2 * x2) * k2 - x2;
          x += h * (k1 + k2) / 2;
          y += h * (l1 + l2) / 2;
        }
      b[BX] = x + y;
    }
}

/* The LU decomposition of 16 x 16 blocks on the diagonal, as blocked LU begins.  */
KERNEL
lu (G float *a, int n)
{
  SHARED float t[TILE][TILE];
  int i, j;
  for (i = 0; i < TILE; i++)
    t[i][TX] = a[(BX * TILE + i) * n + BX * TILE + TX];
  SYNC ();
  for (i = 0; i < TILE - 1; i++)
    {
      if (TX > i)
        {
          for (j = 0; j < i; j++)
            t[TX][i] -= t[TX][j] * t[j][i];
          t[TX][i] /= t[i][i];
        }
      SYNC ();
      if (TX > i)
        for (j = 0; j < i + 1; j++)
          t[i + 1][TX] -= t[i + 1][j] * t[j][TX];
      SYNC ();
    }
  for (i = 0; i < TILE; i++)
    a[(BX * TILE + i) * n + BX * TILE + TX] = t[i][TX];
}

/* Needleman-Wunsch scores of 32 x 32 blocks, by diagonals; each block by itself.  */
KERNEL
wavefront (G const int *a, G int *b, int n)
{
  SHARED int t[33][33], own[32][32];
  int i, m;
  for (i = 0; i < 32; i++)
    own[i][TX] = a[(BY * 32 + i) * n + BX * 32 + TX];
  t[TX + 1][0] = -TX - 1;
  t[0][TX + 1] = -TX - 1;
  if (TX == 0)
    t[0][0] = 0;
  SYNC ();
  for (m = 0; m < 63; m++)
    {
      int x = m < 32 ? TX : TX + m - 31, y = m - x;
      if (x < 32 && y >= 0 && y < 32)
        {
          int best = t[y][x] + own[y][x], left = t[y + 1][x] - 1, up = t[y][x + 1] - 1;
          best = best > left ? best : left;
          t[y + 1][x + 1] = best > up ? best : up;
        }
      SYNC ();
    }
  for (i = 0; i < 32; i++)
    b[(BY * 32 + i) * n + BX * 32 + TX] = t[i + 1][TX + 1];
}

/* A small array of each thread's own: the median of nine.  */
KERNEL
median (G const float *a, G float *b, int n)
{
  float own[9];
  int x = BX * DX + TX, y = BY * DY + TY, i, j, k = 0;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
    return;
  for (i = -1; i < 2; i++)
    for (j = -1; j < 2; j++)
      own[k++] = a[(y + i) * n + x + j];
  for (i = 1; i < 9; i++)
    {
      float v = own[i];
      for (j = i - 1; j >= 0 && own[j] > v; j--)
        own[j + 1] = own[j];
      own[j + 1] = v;
    }
  b[y * n + x] = own[4];
}

KERNEL
divide (G const unsigned *a, G unsigned *b, unsigned d, int n)
{
  int i = BX * DX + TX;
  if (i < n)
    b[i] = a[i] / (a[i] % d + 1);
}

#ifndef __OPENCL_VERSION__
/* Sums by shuffles, one atomic a warp.  */
KERNEL
warpsum (const float *a, float *sums, int n)
{
  int i = BX * DX + TX;
  float sum = i < n ? a[i] : 0;
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_down_sync (0xffffffffu, sum, step);
  if ((TX & 31) == 0)
    atomicAdd (&sums[BX], sum);
}

/* All add to one counter.  */
KERNEL
count (const unsigned *a, int *total, int n)
{
  int i = BX * DX + TX;
  if (i < n && (a[i] & 1))
    atomicAdd (total, 1);
}
#endif
