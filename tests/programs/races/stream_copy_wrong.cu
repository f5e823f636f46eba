/* wrong: the copy runs beside the kernel whose result it takes. */
__global__ void fill (int *a)
{
  for (int i = threadIdx.x; i < 1000; i += 64)
    a[i] = i;
}
int main ()
{
  cudaStream_t one, two;
  int *a, *host;
  cudaMalloc (&a, 1000 * sizeof (int));
  cudaMallocHost (&host, 1000 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  cudaMemsetAsync (a, 0, 1000 * sizeof (int), one);
  fill<<<1, 64, 0, one>>> (a);
  cudaMemcpyAsync (host, a, 1000 * sizeof (int), cudaMemcpyDeviceToHost, two);
  return cudaDeviceSynchronize () != cudaSuccess;
}
