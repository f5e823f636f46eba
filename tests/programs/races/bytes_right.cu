/* right: neighbouring bytes, each written by its own thread. */
__global__ void fill (char *a)
{
  a[threadIdx.x] = threadIdx.x;
  __syncthreads ();
  a[threadIdx.x + 256] = a[255 - threadIdx.x];
}
int main ()
{
  char *a;
  cudaMallocManaged (&a, 512);
  fill<<<1, 256>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
