/* right: other streams wait for the default stream, and it for them. */
__global__ void fill (int *a)
{
  a[threadIdx.x] = threadIdx.x;
}
__global__ void twice (int *a)
{
  a[threadIdx.x] *= 2;
}
int main ()
{
  cudaStream_t own;
  int *a;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaStreamCreate (&own);
  fill<<<1, 64>>> (a);
  twice<<<1, 64, 0, own>>> (a);
  twice<<<1, 64>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
