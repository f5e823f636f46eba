/* right: bins are counted by atomic operations. */
__global__ void histogram (const unsigned *a, int *bins, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd (&bins[a[i]], 1);
}
int main ()
{
  unsigned *a;
  int *bins;
  cudaMallocManaged (&a, 4096 * sizeof (unsigned));
  cudaMallocManaged (&bins, 16 * sizeof (int));
  for (int i = 0; i < 4096; i++)
    a[i] = i * 2654435761u >> 28;
  cudaMemset (bins, 0, 16 * sizeof (int));
  histogram<<<16, 256>>> (a, bins, 4096);
  return cudaDeviceSynchronize () != cudaSuccess;
}
