/* wrong: each block clears the counter that all of them add to. */
__global__ void count (int *sum)
{
  if (threadIdx.x == 0)
    *sum = 0;
  __syncthreads ();
  atomicAdd (sum, 1);
}
int main ()
{
  int *sum;
  cudaMallocManaged (&sum, sizeof (int));
  count<<<4, 64>>> (sum);
  return cudaDeviceSynchronize () != cudaSuccess;
}
