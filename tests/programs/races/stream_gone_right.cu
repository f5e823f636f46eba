/* right: the program destroys each stream, and waits for all before it uses the next. */
__global__ void count (int *a)
{
  a[threadIdx.x] += 1;
}
int main ()
{
  cudaStream_t one;
  int *a;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  for (int i = 0; i < 50; i++)
    {
      cudaStreamCreateWithFlags (&one, i % 2 ? cudaStreamNonBlocking : cudaStreamDefault);
      count<<<1, 64, 0, one>>> (a);
      cudaStreamDestroy (one);
      if (i % 2)
        cudaDeviceSynchronize ();
      else
        count<<<1, 64>>> (a);
      cudaDeviceSynchronize ();
    }
  return cudaDeviceSynchronize () != cudaSuccess;
}
