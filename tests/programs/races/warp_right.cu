/* right: __syncwarp between write and read. */
__global__ void shift (int *a)
{
  __shared__ int t[32];
  int i = threadIdx.x;
  t[i] = a[i];
  __syncwarp ();
  a[i] = t[(i + 1) % 32];
}
int main ()
{
  int *a;
  cudaMallocManaged (&a, 32 * sizeof (int));
  shift<<<1, 32>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
