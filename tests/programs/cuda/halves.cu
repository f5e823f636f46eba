/* half and bfloat16: products of matrices, dot products by pairs, every value and rounding against the host.  */
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <vector>
template <class T>
__global__ void
product (const T *a, const T *b, T *c, int n)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n)
    return;
  T sum = T (0.f);
  for (int k = 0; k < n; k++)
    sum = __hfma (a[y * n + k], b[k * n + x], sum);
  c[y * n + x] = sum;
}
template <class T>
void
try_product ()
{
  const int n = 24;
  std::vector<T> a (n * n), b (n * n), c (n * n);
  for (int i = 0; i < n * n; i++)
    {
      a[i] = T ((i * 7 % 31 - 15) / 8.f);
      b[i] = T ((i * 5 % 29 - 14) / 16.f);
    }
  T *d[3];
  for (auto &p : d)
    CHECK (cudaMalloc (&p, n * n * sizeof (T)));
  CHECK (cudaMemcpy (d[0], a.data (), n * n * sizeof (T), cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (d[1], b.data (), n * n * sizeof (T), cudaMemcpyHostToDevice));
  product<<<dim3 (2, 2), dim3 (16, 16)>>> (d[0], d[1], d[2], n);
  CHECK (cudaMemcpy (c.data (), d[2], n * n * sizeof (T), cudaMemcpyDeviceToHost));
  for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++)
      {
        T sum = T (0.f);
        for (int k = 0; k < n; k++)
          sum = __hfma (a[y * n + k], b[k * n + x], sum);
        SAME (float (c[y * n + x]), float (sum));
      }
  for (auto &p : d)
    CHECK (cudaFree (p));
}
/* What both sides do with two words.  */
template <class T> struct both
{
  unsigned short r[16];
  float f;
  int i;
};
template <class T>
__host__ __device__ both<T>
work (unsigned short x, unsigned short y)
{
  T a = __builtin_bit_cast (T, x), b = __builtin_bit_cast (T, y);
  both<T> to;
  T r[16] = { a + b,
              a - b,
              a * b,
              -a,
              __habs (a),
              __hmax (a, b),
              __hmin (a, b),
              a < b ? a : b,
              __hadd_sat (a, b),
              T (float (a) * 3.7f),
              T (double (float (a)) * 1.000001),
              T (int (x) * 77),
              hfloor (a),
              hrint (b),
              a / b,
              __hneu (a, b) ? a : b };
  for (int k = 0; k < 16; k++)
    to.r[k] = float (r[k]) != float (r[k]) ? 0x7fff : __builtin_bit_cast (unsigned short, r[k]);
  to.f = float (a) == float (a) ? float (a) : 0;
  to.i = (int)__hisnan (a) + 2 * __hisinf (b) + 4 * (a == b) + 8 * (a >= b);
  return to;
}
template <class T>
__global__ void
all (both<T> *to, unsigned step)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = work<T> (i * 4, i * step + 3);
}
template <class T>
void
try_all ()
{
  const int n = 1 << 14;
  std::vector<both<T>> got (n);
  both<T> *d;
  CHECK (cudaMalloc (&d, n * sizeof *d));
  for (unsigned step : { 40503u, 4u })
    {
      all<T><<<n / 128, 128>>> (d, step);
      CHECK (cudaMemcpy (got.data (), d, n * sizeof *d, cudaMemcpyDeviceToHost));
      for (int i = 0; i < n; i++)
        {
          both<T> want = work<T> (i * 4, i * step + 3);
          for (int k = 0; k < 16; k++)
            if (got[i].r[k] != want.r[k])
              {
                std::printf ("%d of %x, %x: %x, not %x\n", k, i * 4, (unsigned short)(i * step + 3), got[i].r[k],
                             want.r[k]);
                std::exit (1);
              }
          SAME (got[i].f, want.f);
          SAME (got[i].i, want.i);
        }
    }
  CHECK (cudaFree (d));
}
__global__ void
pairs (const half2 *a, const half2 *b, float *to, __half *sum, __half2 *both)
{
  half2 s = __float2half2_rn (0.f);
  for (int i = threadIdx.x; i < 64; i += 32)
    s = __hfma2 (a[i], b[i], s);
  for (int m = 16; m; m /= 2)
    s = __hadd2 (s, __shfl_xor_sync (~0u, s, m));
  if (threadIdx.x == 0)
    *to = __low2float (s) + __high2float (s);
  atomicAdd (sum, __float2half (0.5f));
  atomicAdd (both, __halves2half2 (__int2half_rn (1), __float2half (0.25f)));
}
int
main ()
{
  for (int i = 0; i < 65536; i++) /* each half, against arithmetic of its parts */
    {
      int e = i >> 10 & 31, m = i & 1023;
      double v = (i & 32768 ? -1. : 1.) * (e ? std::ldexp (1024 + m, e - 25) : std::ldexp (m, -24));
      if (e == 31)
        continue;
      __half h = __builtin_bit_cast (__half, (unsigned short)i);
      SAME ((double)float (h), v);
      SAME (__half_as_ushort (__float2half (float (v))), (unsigned short)i);
      SAME (__half_as_ushort (__half (v)), (unsigned short)i);
    }
  SAME (__half_as_ushort (__float2half (65520.f)), (unsigned short)0x7c00);
  SAME (__half_as_ushort (__float2half (65519.f)), (unsigned short)0x7bff);
  SAME (__half_as_ushort (__float2half_rz (1e9f)), (unsigned short)0x7bff);
  SAME (__half_as_ushort (__float2half_ru (1e-9f)), (unsigned short)1);
  SAME (__half_as_ushort (__float2half_rd (-1e-9f)), (unsigned short)0x8001);
  SAME (__half_as_ushort (__float2half (-1e-9f)), (unsigned short)0x8000);
  SAME (__half_as_ushort (__float2half_rd (1.0009f)), (unsigned short)0x3c00);
  SAME (__half_as_ushort (__float2half_ru (1.0009f)), (unsigned short)0x3c01);
  SAME (float (__float2bfloat16 (3.00781250f)), 3.f);
  SAME (float (__float2bfloat16_ru (3.001f)), 3.015625f);
  SAME (float (__float2bfloat16 (3.4e38f)), INFINITY);
  SAME (__half2int_rz (__float2half (-2.75f)), -2);
  SAME (__half2int_rn (__float2half (2.5f)), 2);
  SAME (__half2int_ru (__float2half (2.25f)), 3);
  SAME (__half2ushort_rz (__float2half (-7.f)), (unsigned short)0);
  SAME (__half2short_rn (__ushort_as_half (0x7c00)), (short)32767);
  try_product<__half> ();
  try_product<__nv_bfloat16> ();
  try_all<__half> ();
  try_all<__nv_bfloat16> ();
  std::vector<half2> a (64), b (64);
  float want = 0, got;
  for (int i = 0; i < 64; i++)
    {
      a[i] = __floats2half2_rn (i % 5, 1);
      b[i] = make_half2 (__half (2), __half (i % 3));
      want += i % 5 * 2 + i % 3;
    }
  half2 *d, *e, *two;
  float *f;
  __half *sum, s;
  half2 t;
  CHECK (cudaMalloc (&d, 256));
  CHECK (cudaMalloc (&e, 256));
  CHECK (cudaMalloc (&f, 4));
  CHECK (cudaMalloc (&sum, 2));
  CHECK (cudaMalloc (&two, 4));
  CHECK (cudaMemset (sum, 0, 2));
  CHECK (cudaMemset (two, 0, 4));
  CHECK (cudaMemcpy (d, a.data (), 256, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy (e, b.data (), 256, cudaMemcpyHostToDevice));
  pairs<<<1, 32>>> (d, e, f, sum, two);
  CHECK (cudaMemcpy (&got, f, 4, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (&s, sum, 2, cudaMemcpyDeviceToHost));
  CHECK (cudaMemcpy (&t, two, 4, cudaMemcpyDeviceToHost));
  SAME (got, want);
  SAME (float (s), 16.f);
  SAME (float (t.x), 32.f);
  SAME (float (t.y), 8.f);
  std::puts ("halves: right");
}
