/* wrong: nothing makes the second stream wait for the first. */
__global__ void fill (int *a)
{
  a[threadIdx.x] = threadIdx.x;
}
__global__ void twice (const int *a, int *b)
{
  b[threadIdx.x] = 2 * a[threadIdx.x];
}
int main ()
{
  cudaStream_t one, two;
  int *a, *b;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMalloc (&b, 64 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  fill<<<1, 64, 0, one>>> (a);
  twice<<<1, 64, 0, two>>> (a, b);
  return cudaDeviceSynchronize () != cudaSuccess;
}
