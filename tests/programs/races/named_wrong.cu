/* wrong: the warps that read meet at barrier 2 among themselves, those that write at barrier 1. */
__global__ void pass (const int *a, int *out)
{
  __shared__ int tile[64];
  int i = threadIdx.x;
  if (i < 64)
    {
      tile[i] = a[i];
      asm volatile ("bar.sync 1, 64;" ::: "memory");
    }
  else
    {
      asm volatile ("bar.sync 2, 64;" ::: "memory");
      out[i - 64] = tile[127 - i];
    }
}
int main ()
{
  int *a;
  cudaMallocManaged (&a, 128 * sizeof (int));
  for (int i = 0; i < 64; i++)
    a[i] = i;
  pass<<<1, 128>>> (a, a + 64);
  return cudaDeviceSynchronize () != cudaSuccess;
}
