/* wrong: the last block reads sums that no fence stands behind. */
__device__ unsigned ticket;
__global__ void total (const int *a, int *parts, int *out)
{
  __shared__ bool last;
  __shared__ int t[64];
  int i = threadIdx.x;
  t[i] = a[blockIdx.x * 64 + i];
  __syncthreads ();
  if (i == 0)
    {
      int sum = 0;
      for (int k = 0; k < 64; k++)
        sum += t[k];
      parts[blockIdx.x] = sum;
      last = atomicAdd (&ticket, 1) == gridDim.x - 1;
    }
  __syncthreads ();
  if (last && i == 0)
    {
      int sum = 0;
      for (int k = 0; k < gridDim.x; k++)
        sum += parts[k];
      *out = sum;
    }
}
int main ()
{
  int *a, *parts, *out;
  cudaMallocManaged (&a, 1024 * sizeof (int));
  cudaMallocManaged (&parts, 16 * sizeof (int));
  cudaMallocManaged (&out, sizeof (int));
  for (int i = 0; i < 1024; i++)
    a[i] = 1;
  total<<<16, 64>>> (a, parts, out);
  return cudaDeviceSynchronize () != cudaSuccess || *out != 1024;
}
