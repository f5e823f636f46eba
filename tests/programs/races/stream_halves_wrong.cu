/* wrong: the parts of the two streams overlap by one element. */
__global__ void count (int *a, int n)
{
  for (int i = threadIdx.x; i < n; i += 64)
    a[i] += 1;
}
int main ()
{
  cudaStream_t one, two;
  int *a;
  cudaMalloc (&a, 1000 * sizeof (int));
  cudaMemset (a, 0, 1000 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  count<<<1, 64, 0, one>>> (a, 501);
  count<<<1, 64, 0, two>>> (a + 500, 500);
  return cudaDeviceSynchronize () != cudaSuccess;
}
