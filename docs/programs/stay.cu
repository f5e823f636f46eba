#include <cuda_runtime.h>
__global__ void spin (float *x, int n)
{
  for (int i = 0; i < n; i++)
    x[threadIdx.x] = x[threadIdx.x] * 1.5f + 0.5f;
}
int main ()
{
  float *x;
  cudaMalloc (&x, 100 << 20);
  for (;;)
    {
      spin<<<1, 32>>> (x, 1000000);
      cudaDeviceSynchronize ();
    }
}
