/* wrong: a lock by atomicCAS without fences: what is done with it held may be seen before, or after. */
__global__ void add (int *lock, int *sum)
{
  if (threadIdx.x % 32 != 0)
    return;
  while (atomicCAS (lock, 0, 1) != 0)
    ;
  *sum += blockIdx.x + 1;
  atomicExch (lock, 0);
}
int main ()
{
  int *lock;
  cudaMallocManaged (&lock, 2 * sizeof (int));
  cudaMemset (lock, 0, 2 * sizeof (int));
  add<<<8, 128>>> (lock, lock + 1);
  return cudaDeviceSynchronize () != cudaSuccess;
}
