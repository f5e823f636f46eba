/* wrong: each block holds a lock, but not the same one. */
__global__ void add (int *lock, int *sum)
{
  if (threadIdx.x != 0)
    return;
  while (atomicCAS (&lock[blockIdx.x % 2], 0, 1) != 0)
    ;
  __threadfence ();
  *sum += blockIdx.x + 1;
  __threadfence ();
  atomicExch (&lock[blockIdx.x % 2], 0);
}
int main ()
{
  int *lock;
  cudaMallocManaged (&lock, 3 * sizeof (int));
  cudaMemset (lock, 0, 3 * sizeof (int));
  add<<<8, 32>>> (lock, lock + 2);
  return cudaDeviceSynchronize () != cudaSuccess;
}
