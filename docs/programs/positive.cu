#include <cassert>
#include <cuda_runtime.h>
__global__ void scale (float *x)
{
  assert (x[threadIdx.x] > 2);
  x[threadIdx.x] *= 2;
}
int main ()
{
  float *x, numbers[4] = { 9, 9, 9, 1 };
  cudaMalloc (&x, sizeof numbers);
  cudaMemcpy (x, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  scale<<<1, 4>>> (x);
  return cudaDeviceSynchronize () != cudaErrorAssert;
}
