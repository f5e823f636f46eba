/* wrong: all blocks write the same bytes; other lanes write the other bytes of their words. */
__global__ void put (char *a)
{
  a[threadIdx.x] = blockIdx.x;
}
int main ()
{
  char *a;
  cudaMalloc (&a, 64);
  put<<<4, 64>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
