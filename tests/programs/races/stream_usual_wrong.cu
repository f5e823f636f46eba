/* wrong: a stream that was made with cudaStreamNonBlocking does not wait for the default stream. */
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
  cudaStreamCreateWithFlags (&own, cudaStreamNonBlocking);
  fill<<<1, 64>>> (a);
  twice<<<1, 64, 0, own>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
