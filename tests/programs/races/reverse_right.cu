/* right: a barrier between write and read. */
#include <cstdio>
__global__ void reverse (int *a)
{
  __shared__ int t[256];
  int i = threadIdx.x;
  t[i] = a[i];
  __syncthreads ();
  a[i] = t[255 - i];
}
int main ()
{
  int *a;
  cudaMallocManaged (&a, 256 * sizeof (int));
  for (int i = 0; i < 256; i++)
    a[i] = i;
  reverse<<<1, 256>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
