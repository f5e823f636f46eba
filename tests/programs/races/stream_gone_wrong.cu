/* wrong: a stream that is destroyed need not have done its work. */
__global__ void count (int *a)
{
  a[threadIdx.x] += 1;
}
int main ()
{
  cudaStream_t one, two;
  int *a;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  count<<<1, 64, 0, one>>> (a);
  cudaStreamDestroy (one);
  count<<<1, 64, 0, two>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
