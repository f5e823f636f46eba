/* wrong: all blocks write the same doubles; their lower words are alike. */
__global__ void put (double *a)
{
  a[threadIdx.x] = blockIdx.x;
}
int main ()
{
  double *a;
  cudaMalloc (&a, 64 * sizeof (double));
  put<<<4, 64>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
