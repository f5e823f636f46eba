#include <cstdio>
#include <cuda_runtime.h>
__global__ void twice (float *x, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    x[i] *= 2;
}
int main ()
{
  float *x;
  cudaMalloc (&x, 256 * sizeof *x);
  cudaMemset (x, 0, 256 * sizeof *x);
  twice<<<2, 256>>> (x, 256);
  cudaError_t error = cudaDeviceSynchronize ();
  std::printf ("%s\n", cudaGetErrorString (error));
}
