/* wrong: a kernel of one device reads what one of the other writes, and nothing says which comes first. */
__global__ void fill (int *a)
{
  a[threadIdx.x] = threadIdx.x;
}
__global__ void sum (int *a, int *to)
{
  atomicAdd (to, a[threadIdx.x]);
}
int main ()
{
  int *a, *to;
  cudaSetDevice (1);
  cudaDeviceEnablePeerAccess (0, 0);
  cudaMalloc (&to, sizeof (int));
  cudaMemset (to, 0, sizeof (int));
  cudaSetDevice (0);
  cudaMalloc (&a, 256 * sizeof (int));
  cudaMemset (a, 0, 256 * sizeof (int));
  cudaDeviceSynchronize ();
  fill<<<1, 256>>> (a);
  cudaSetDevice (1);
  sum<<<1, 256>>> (a, to);
  cudaDeviceSynchronize ();
  cudaSetDevice (0);
  return cudaDeviceSynchronize () != cudaSuccess;
}
