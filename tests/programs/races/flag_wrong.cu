/* wrong: nothing between the data and the flag. */
__global__ void hand_over (int *data, volatile int *flag, int *out)
{
  if (threadIdx.x != 0)
    return;
  if (blockIdx.x == 0)
    {
      *data = 42;
      *flag = 1;
    }
  else
    {
      while (*flag == 0)
        ;
      *out = *data;
    }
}
int main ()
{
  int *data, *flag, *out;
  cudaMallocManaged (&data, 3 * sizeof (int));
  cudaMemset (data, 0, 3 * sizeof (int));
  flag = data + 1;
  out = data + 2;
  hand_over<<<2, 32>>> (data, flag, out);
  return cudaDeviceSynchronize () != cudaSuccess;
}
