/* right: zeroed, counted and added up with barriers between. */
__global__ void histogram (const unsigned *a, int *bins)
{
  __shared__ int own[64];
  if (threadIdx.x < 64)
    own[threadIdx.x] = 0;
  __syncthreads ();
  atomicAdd (&own[a[blockIdx.x * 256 + threadIdx.x]], 1);
  __syncthreads ();
  if (threadIdx.x < 64)
    atomicAdd (&bins[threadIdx.x], own[threadIdx.x]);
}
int main ()
{
  unsigned *a;
  int *bins;
  cudaMallocManaged (&a, 4096 * sizeof (unsigned));
  cudaMallocManaged (&bins, 64 * sizeof (int));
  for (int i = 0; i < 4096; i++)
    a[i] = i * 2654435761u >> 26;
  cudaMemset (bins, 0, 64 * sizeof (int));
  histogram<<<16, 256>>> (a, bins);
  return cudaDeviceSynchronize () != cudaSuccess;
}
