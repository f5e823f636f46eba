/* A kernel whose function is in another file; -DPART: that file.  With -DCALLED an OpenMP program calls it.  */
#include <stdio.h>

#ifdef PART
__device__ int twice (int x) { return 2 * x; }
#else
__device__ int twice (int x);
__device__ int bias = 5;

__global__ void
work (int *out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = twice (i) + bias;
}

extern "C" int
#ifdef CALLED
on_cuda (void)
#else
main (void)
#endif
{
  int *there, here[8], seven = 7, sum = 0;
  cudaMalloc ((void **) &there, sizeof here);
  cudaMemcpyToSymbol (bias, &seven, sizeof seven);
  work<<<2, 4>>> (there, 8);
  cudaMemcpy (here, there, sizeof here, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 8; i++)
    sum += here[i];
  printf ("%d %d, %d\n", here[0], here[7], sum);
  return 0;
}
#endif
