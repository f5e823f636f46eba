/* right: a lock by atomicCAS, a fence behind it and one before it is given back. */
__global__ void add (int *lock, int *sum)
{
  if (threadIdx.x % 32 != 0)
    return;
  while (atomicCAS (lock, 0, 1) != 0)
    ;
  __threadfence ();
  *sum += blockIdx.x + 1;
  __threadfence ();
  atomicExch (lock, 0);
}
int main ()
{
  int *lock;
  cudaMallocManaged (&lock, 2 * sizeof (int));
  cudaMemset (lock, 0, 2 * sizeof (int));
  add<<<8, 128>>> (lock, lock + 1);
  return cudaDeviceSynchronize () != cudaSuccess || lock[1] != 4 * 36;
}
