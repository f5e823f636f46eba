/* wrong: the flag is written and read in relaxed order, which orders nothing else. */
__global__ void hand_over (int *data, int *flag, int *out)
{
  if (threadIdx.x != 0)
    return;
  if (blockIdx.x == 0)
    {
      *data = 42;
      asm volatile ("st.relaxed.gpu.global.u32 [%0], 1;" :: "l" (__cvta_generic_to_global (flag)) : "memory");
    }
  else
    {
      int seen;
      do
        asm volatile ("ld.relaxed.gpu.global.u32 %0, [%1];"
                      : "=r" (seen) : "l" (__cvta_generic_to_global (flag)) : "memory");
      while (seen == 0);
      *out = *data;
    }
}
int main ()
{
  int *data;
  cudaMallocManaged (&data, 3 * sizeof (int));
  cudaMemset (data, 0, 3 * sizeof (int));
  hand_over<<<2, 32>>> (data, data + 1, data + 2);
  return cudaDeviceSynchronize () != cudaSuccess;
}
