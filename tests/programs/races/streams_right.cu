/* right: the second stream waits for an event of the first. */
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
  cudaEvent_t filled;
  int *a, *b;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMalloc (&b, 64 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  cudaEventCreate (&filled);
  fill<<<1, 64, 0, one>>> (a);
  cudaEventRecord (filled, one);
  cudaStreamWaitEvent (two, filled, 0);
  twice<<<1, 64, 0, two>>> (a, b);
  return cudaDeviceSynchronize () != cudaSuccess;
}
