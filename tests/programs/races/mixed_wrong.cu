/* wrong: one half adds by atomic operations, the other without. */
__global__ void add (int *sum)
{
  if (threadIdx.x < 32)
    atomicAdd (sum, 1);
  else if (threadIdx.x == 32)
    *sum = *sum + 1;
}
int main ()
{
  int *sum;
  cudaMallocManaged (&sum, sizeof (int));
  cudaMemset (sum, 0, sizeof (int));
  add<<<1, 64>>> (sum);
  return cudaDeviceSynchronize () != cudaSuccess;
}
