/* right: sums by shuffles in each warp, then of the warps behind a barrier. */
__global__ void total (const int *a, int *out)
{
  __shared__ int parts[8];
  int i = threadIdx.x, sum = a[blockIdx.x * 256 + i];
  for (int step = 16; step; step /= 2)
    sum += __shfl_down_sync (0xffffffff, sum, step);
  if (i % 32 == 0)
    parts[i / 32] = sum;
  __syncthreads ();
  if (i < 32)
    {
      sum = i < 8 ? parts[i] : 0;
      for (int step = 4; step; step /= 2)
        sum += __shfl_down_sync (0xffffffff, sum, step);
      if (i == 0)
        atomicAdd (out, sum);
    }
}
int main ()
{
  int *a, *out;
  cudaMallocManaged (&a, 1024 * sizeof (int));
  cudaMallocManaged (&out, sizeof (int));
  for (int i = 0; i < 1024; i++)
    a[i] = 1;
  *out = 0;
  total<<<4, 256>>> (a, out);
  return cudaDeviceSynchronize () != cudaSuccess || *out != 1024;
}
