#include <cuda_runtime.h>
__global__ void scale (float *x) { x[threadIdx.x] *= 2; }
int main ()
{
  float *x;
  cudaMalloc (&x, 32 * sizeof *x);
  cudaMemset (x, 0, 32 * sizeof *x);
  cudaSetDevice (1);
  scale<<<1, 32>>> (x);
  return cudaDeviceSynchronize () != cudaErrorIllegalAddress;
}
