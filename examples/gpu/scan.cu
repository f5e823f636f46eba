/* Prefix sums: within blocks in shared memory, then of the blocks' sums, which are added to each block.  */
#include "check.h"
#include <vector>

constexpr int threads = 256;

__global__ void
scan_blocks (const int *in, int *out, int *sums, int n)
{
  __shared__ int values[2][threads];
  int t = threadIdx.x, i = blockIdx.x * threads + t, now = 0;
  values[0][t] = i < n ? in[i] : 0;
  __syncthreads ();
  for (int step = 1; step < threads; step *= 2, now = !now)
    {
      values[!now][t] = values[now][t] + (t >= step ? values[now][t - step] : 0);
      __syncthreads ();
    }
  if (i < n)
    out[i] = values[now][t];
  if (t == threads - 1)
    sums[blockIdx.x] = values[now][t];
}

__global__ void
add_before (int *out, const int *sums, int n)
{
  int i = (blockIdx.x + 1) * threads + threadIdx.x;
  if (i < n)
    out[i] += sums[blockIdx.x];
}

int
main ()
{
  const int n = 40000, blocks = (n + threads - 1) / threads;
  std::vector<int> in (n), got (n);
  for (int i = 0; i < n; i++)
    in[i] = i % 7 - 2;
  int *from, *to, *sums, *sums_scanned, *total;
  CHECK (cudaMalloc (&from, n * sizeof *from));
  CHECK (cudaMalloc (&to, n * sizeof *to));
  CHECK (cudaMalloc (&sums, blocks * sizeof *sums));
  CHECK (cudaMalloc (&sums_scanned, blocks * sizeof *sums));
  CHECK (cudaMalloc (&total, sizeof *total));
  CHECK (cudaMemcpy (from, in.data (), n * sizeof *from, cudaMemcpyDefault));
  scan_blocks<<<blocks, threads>>> (from, to, sums, n);
  scan_blocks<<<1, threads>>> (sums, sums_scanned, total, blocks);
  add_before<<<blocks - 1, threads>>> (to, sums_scanned, n);
  CHECK (cudaMemcpy (got.data (), to, n * sizeof *to, cudaMemcpyDefault));
  for (int i = 0, want = 0; i < n; i++)
    if (got[i] != (want += in[i]))
      {
        std::printf ("wrong: %d at %d, not %d\n", got[i], i, want);
        return 1;
      }
  std::printf ("scan: %d prefix sums are right\n", n);
}
