/* wrong: the flag is set before the value that it tells of. */
#include <cooperative_groups.h>
__global__ void chain (int *value, int *flags)
{
  int block = blockIdx.x;
  if (threadIdx.x == 0)
    {
      if (block > 0)
        while (atomicAdd (&flags[block - 1], 0) == 0)
          ;
      __threadfence ();
      atomicExch (&flags[block], 1);
      *value = *value * 3 % 1009 + block;
    }
}
int main ()
{
  int *value, *flags;
  cudaMallocManaged (&value, sizeof (int));
  cudaMallocManaged (&flags, 12 * sizeof (int));
  *value = 1;
  for (int i = 0; i < 12; i++)
    flags[i] = 0;
  void *arguments[] = { &value, &flags };
  cudaLaunchCooperativeKernel ((void *) chain, dim3 (12), dim3 (64), arguments, 0, 0);
  return cudaDeviceSynchronize () != cudaSuccess;
}
