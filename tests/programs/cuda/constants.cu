/* Constant memory and functions by pointers: tables on the device, pointers that the host takes there.  */
#include "check.h"
#include <cuda_runtime.h>
#include <vector>
struct filter
{
  int taps;
  float weight[9];
};
__constant__ filter filters[3];
__constant__ float scale = 2;
__constant__ const int primes[] = { 2, 3, 5, 7, 11 };
__device__ int total;
__device__ float *buffer;
typedef float (*function) (float, float);
__device__ float
add (float a, float b)
{
  return a + b;
}
__device__ float
mul (float a, float b)
{
  return a * b;
}
__device__ __noinline__ float
power (float a, float b)
{
  return b < 1 ? 1 : a * power (a, b - 1);
}
__device__ function table[] = { add, mul, power };
__constant__ function chosen;
__device__ function the_mul = mul;
__global__ void
filter_all (const float *from, float *to, int n, int which)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const filter &f = filters[which];
  float sum = 0;
  for (int k = 0; k < f.taps; k++)
    {
      int at = i + k - f.taps / 2;
      if (at >= 0 && at < n)
        sum += f.weight[k] * from[at];
    }
  to[i] = scale * sum + primes[i % 5];
}
__global__ void
by_table (float *to)
{
  int i = threadIdx.x;
  to[i] = table[i % 3](i + 1, 2) + chosen (i, 3);
}
__global__ void
by_argument (float *to, function f)
{
  to[threadIdx.x] = f (threadIdx.x, 5);
  if (f == add)
    atomicAdd (&total, 1);
  if (f == table[1])
    atomicAdd (&total, 100);
}
struct op
{
  float (op::*member) (float) const;
  float by;
  __device__ float
  twice (float x) const
  {
    return 2 * x * by;
  }
  __device__ float
  thrice (float x) const
  {
    return 3 * x * by;
  }
};
__global__ void
by_member (float *to)
{
  op o{ threadIdx.x % 2 ? &op::twice : &op::thrice, 0.5f };
  to[threadIdx.x] = (o.*o.member) (threadIdx.x);
}
__global__ void
through_pointer ()
{
  buffer[threadIdx.x] = threadIdx.x * 3;
}
int
main ()
{
  const int n = 200;
  std::vector<float> a (n), got (n);
  filter host[3] = { { 1, { 1 } }, { 3, { .25f, .5f, .25f } }, { 9, { 1, 2, 3, 4, 5, 4, 3, 2, 1 } } };
  float *d, *t, twice = 4;
  for (int i = 0; i < n; i++)
    a[i] = i % 17;
  CHECK (cudaMalloc (&d, n * 4));
  CHECK (cudaMalloc (&t, n * 4));
  CHECK (cudaMemcpy (d, a.data (), n * 4, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpyToSymbol (filters, host, 2 * sizeof (filter)));
  CHECK (cudaMemcpyToSymbol (filters, host + 2, sizeof (filter), 2 * sizeof (filter)));
  int primes_host[] = { 2, 3, 5, 7, 11 };
  for (int which = 0; which < 3; which++)
    {
      filter_all<<<2, 128>>> (d, t, n, which);
      CHECK (cudaMemcpy (got.data (), t, n * 4, cudaMemcpyDeviceToHost));
      for (int i = 0; i < n; i++)
        {
          float sum = 0;
          for (int k = 0; k < host[which].taps; k++)
            {
              int at = i + k - host[which].taps / 2;
              if (at >= 0 && at < n)
                sum += host[which].weight[k] * a[at];
            }
          SAME (got[i], (which == 2 ? 4 : 2) * sum + primes_host[i % 5]);
        }
      if (which == 1)
        CHECK (cudaMemcpyToSymbol (scale, &twice, sizeof twice));
    }
  function f, g;
  CHECK (cudaMemcpyFromSymbol (&f, table, sizeof f, 0));
  CHECK (cudaMemcpyFromSymbol (&g, the_mul, sizeof g));
  CHECK (cudaMemcpyToSymbol (chosen, &g, sizeof g));
  by_table<<<1, 64>>> (t);
  CHECK (cudaMemcpy (got.data (), t, 64 * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++)
    SAME (got[i], (i % 3 == 0 ? i + 3.f : i % 3 == 1 ? 2.f * (i + 1) : 1.f * (i + 1) * (i + 1)) + 3.f * i);
  by_argument<<<1, 32>>> (t, f);
  CHECK (cudaMemcpy (got.data (), t, 32 * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    SAME (got[i], i + 5.f);
  by_argument<<<1, 32>>> (t, g);
  int count;
  CHECK (cudaMemcpyFromSymbol (&count, total, sizeof count));
  SAME (count, 32 + 3200);
  by_member<<<1, 32>>> (t);
  CHECK (cudaMemcpy (got.data (), t, 32 * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    SAME (got[i], i * (i % 2 ? 1 : 1.5f));
  CHECK (cudaMemcpyToSymbol (buffer, &t, sizeof t));
  through_pointer<<<1, 32>>> ();
  CHECK (cudaMemcpy (got.data (), t, 32 * 4, cudaMemcpyDeviceToHost));
  SAME (got[31], 93.f);
  void *address;
  size_t size;
  CHECK (cudaGetSymbolAddress (&address, filters));
  CHECK (cudaGetSymbolSize (&size, filters));
  SAME (size, sizeof host);
  CHECK (cudaMemset (address, 0, size));
  filter_all<<<2, 128>>> (d, t, n, 1);
  CHECK (cudaMemcpy (got.data (), t, n * 4, cudaMemcpyDeviceToHost));
  SAME (got[7], 5.f);
  std::puts ("constants: right");
}
