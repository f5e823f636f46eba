/* wrong: the other stream writes what the second kernel may still read; it has waited for the first one only. */
__global__ void fill (int *a)
{
  a[threadIdx.x] = threadIdx.x;
}
__global__ void shift (const int *a, int *b)
{
  b[threadIdx.x] = a[(threadIdx.x + 1) % 64];
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
  shift<<<1, 64, 0, one>>> (a, b);
  cudaStreamWaitEvent (two, filled, 0);
  fill<<<1, 64, 0, two>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
