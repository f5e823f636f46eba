/* right: the flag is written with release and read with acquire order, by clang's atomic operations. */
__global__ void hand_over (int *data, int *flag, int *out)
{
  if (threadIdx.x != 0)
    return;
  if (blockIdx.x == 0)
    {
      *data = 42;
      __atomic_store_n (flag, 1, __ATOMIC_RELEASE);
    }
  else
    {
      while (__atomic_load_n (flag, __ATOMIC_ACQUIRE) == 0)
        ;
      *out = *data;
    }
}
int main ()
{
  int *data;
  cudaMallocManaged (&data, 3 * sizeof (int));
  cudaMemset (data, 0, 3 * sizeof (int));
  hand_over<<<2, 32>>> (data, data + 1, data + 2);
  return cudaDeviceSynchronize () != cudaSuccess || data[2] != 42;
}
