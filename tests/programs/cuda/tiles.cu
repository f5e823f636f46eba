/* Dynamic shared memory: several arrays in it, types by template, more than 48 KiB by consent; kernels whose static
   tiles are more than 48 KiB together.  */
#include "check.h"
#include <cuda_runtime.h>
#include <vector>
template <class T>
__device__ T *
dynamic ()
{
  extern __shared__ __align__ (16) unsigned char room[];
  return reinterpret_cast<T *> (room);
}
template <class T>
__global__ void
turn (const T *from, T *to, int n)
{
  T *tile = dynamic<T> ();
  int *flags = reinterpret_cast<int *> (tile + n);
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    {
      tile[i] = from[blockIdx.x * n + i];
      flags[i] = i & 1;
    }
  __syncthreads ();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    to[blockIdx.x * n + i] = tile[n - 1 - i] + T (flags[n - 1 - i]);
}
template <int N>
__global__ void
fixed (float *a)
{
  __shared__ float tile[N];
  for (int i = threadIdx.x; i < N; i += blockDim.x)
    tile[i] = a[i] + N;
  __syncthreads ();
  for (int i = threadIdx.x; i < N; i += blockDim.x)
    a[i] = tile[(i + 1) % N];
}
template <class T>
void
try_turn (int n)
{
  std::vector<T> a (2 * n), got (2 * n);
  for (int i = 0; i < 2 * n; i++)
    a[i] = T (i % 97);
  T *d, *t;
  size_t bytes = n * (sizeof (T) + 4);
  CHECK (cudaMalloc (&d, 2 * n * sizeof (T)));
  CHECK (cudaMalloc (&t, 2 * n * sizeof (T)));
  CHECK (cudaMemcpy (d, a.data (), 2 * n * sizeof (T), cudaMemcpyHostToDevice));
  if (bytes > 49152)
    {
      turn<T><<<2, 96, bytes>>> (d, t, n);
      SAME (cudaGetLastError (), cudaErrorInvalidValue);
      CHECK (cudaFuncSetAttribute (turn<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    }
  turn<T><<<2, 96, bytes>>> (d, t, n);
  CHECK (cudaGetLastError ());
  CHECK (cudaMemcpy (got.data (), t, 2 * n * sizeof (T), cudaMemcpyDeviceToHost));
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < n; i++)
      SAME (got[b * n + i], T (a[b * n + n - 1 - i] + T ((n - 1 - i) & 1)));
  CHECK (cudaFree (d));
  CHECK (cudaFree (t));
}
template <int N>
void
try_fixed ()
{
  std::vector<float> a (N);
  for (int i = 0; i < N; i++)
    a[i] = i;
  float *d;
  CHECK (cudaMalloc (&d, N * 4));
  CHECK (cudaMemcpy (d, a.data (), N * 4, cudaMemcpyHostToDevice));
  fixed<N><<<1, 128>>> (d);
  CHECK (cudaMemcpy (a.data (), d, N * 4, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++)
    SAME (a[i], float ((i + 1) % N + N));
  cudaFuncAttributes of;
  CHECK (cudaFuncGetAttributes (&of, fixed<N>));
  SAME (of.sharedSizeBytes, N * sizeof (float));
  CHECK (cudaFree (d));
}
int
main ()
{
  try_turn<float> (1000);
  try_turn<double> (777);
  try_turn<short> (502);
  try_turn<int> (8000);
  try_turn<double> (5000);
  try_fixed<12000> ();
  try_fixed<10001> ();
  try_fixed<64> ();
  try_fixed<12288> ();
  int optin, block, sm;
  CHECK (cudaDeviceGetAttribute (&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK (cudaDeviceGetAttribute (&block, cudaDevAttrMaxSharedMemoryPerBlock, 0));
  CHECK (cudaDeviceGetAttribute (&sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
  SAME (block, 49152);
  SAME (optin > block && sm > optin, true);
  cudaDeviceProp p;
  CHECK (cudaGetDeviceProperties (&p, 0));
  SAME (p.sharedMemPerBlockOptin, (size_t)optin);
  SAME (cudaFuncSetAttribute (turn<char>, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1),
        cudaErrorInvalidValue);
  (void)cudaGetLastError ();
  std::puts ("tiles: right");
}
