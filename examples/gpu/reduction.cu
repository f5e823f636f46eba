/* The sum of an array: each block adds up in shared memory, its first warp by shuffles, one atomic addition a block.  */
#include "check.h"
#include <vector>

__global__ void
sum (const int *a, int n, unsigned long long *total)
{
  __shared__ unsigned long long part[256];
  unsigned long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    mine += a[i];
  part[threadIdx.x] = mine;
  for (int half = blockDim.x / 2; half >= 32; half /= 2)
    {
      __syncthreads ();
      if (threadIdx.x < half)
        part[threadIdx.x] += part[threadIdx.x + half];
    }
  if (threadIdx.x < 32)
    {
      mine = part[threadIdx.x];
      for (int step = 16; step; step /= 2)
        mine += __shfl_down_sync (0xffffffff, mine, step);
      if (threadIdx.x == 0)
        atomicAdd (total, mine);
    }
}

int
main ()
{
  const int n = 1 << 18;
  std::vector<int> a (n);
  unsigned long long want = 0, got = 0, *total;
  for (int i = 0; i < n; i++)
    want += a[i] = i % 1000;
  int *da;
  CHECK (cudaMalloc (&da, n * sizeof *da));
  CHECK (cudaMalloc (&total, sizeof *total));
  CHECK (cudaMemset (total, 0, sizeof *total));
  CHECK (cudaMemcpy (da, a.data (), n * sizeof *da, cudaMemcpyHostToDevice));
  sum<<<16, 256>>> (da, n, total);
  CHECK (cudaMemcpy (&got, total, sizeof got, cudaMemcpyDeviceToHost));
  if (got != want)
    {
      std::printf ("wrong: the sum is %llu, not %llu\n", got, want);
      return 1;
    }
  std::printf ("reduction: the sum of %d numbers is %llu\n", n, got);
}
