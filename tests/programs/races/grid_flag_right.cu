/* right: blocks that run together hand a value on, each to the next, by flags. */
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
      *value = *value * 3 % 1009 + block;
      __threadfence ();
      atomicExch (&flags[block], 1);
    }
}
int main ()
{
  int *value, *flags, right = 1;
  cudaMallocManaged (&value, sizeof (int));
  cudaMallocManaged (&flags, 12 * sizeof (int));
  *value = 1;
  for (int i = 0; i < 12; i++)
    {
      right = right * 3 % 1009 + i;
      flags[i] = 0;
    }
  void *arguments[] = { &value, &flags };
  cudaLaunchCooperativeKernel ((void *) chain, dim3 (12), dim3 (64), arguments, 0, 0);
  return cudaDeviceSynchronize () != cudaSuccess || *value != right;
}
