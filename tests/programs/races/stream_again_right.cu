/* right: the other stream waits for both kernels, which read the same words several times each. */
__global__ void blur (const int *a, int *b)
{
  int i = blockIdx.x * 64 + threadIdx.x;
  b[i] = a[i] + a[i + 1] + a[i + 33] + a[i + 5];
}
__global__ void set (int *a)
{
  *a = 1;
}
int main ()
{
  cudaStream_t one, two;
  cudaEvent_t read;
  int *a, *b;
  cudaMalloc (&a, 300 * sizeof (int));
  cudaMalloc (&b, 256 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  cudaEventCreate (&read);
  blur<<<4, 64, 0, one>>> (a, b);
  blur<<<4, 64, 0, one>>> (a, b);
  cudaEventRecord (read, one);
  cudaStreamWaitEvent (two, read, 0);
  set<<<1, 1, 0, two>>> (a + 77);
  return cudaDeviceSynchronize () != cudaSuccess;
}
