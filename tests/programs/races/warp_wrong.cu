/* wrong: lanes of a warp exchange values without __syncwarp. */
__global__ void shift (int *a)
{
  __shared__ int t[32];
  int i = threadIdx.x;
  t[i] = a[i];
  a[i] = t[(i + 1) % 32];
}
int main ()
{
  int *a;
  cudaMallocManaged (&a, 32 * sizeof (int));
  shift<<<1, 32>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
