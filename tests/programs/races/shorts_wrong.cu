/* wrong: two warps write the same halves of words. */
__global__ void put (short *a)
{
  __shared__ short s[32];
  s[threadIdx.x % 32] = threadIdx.x;
  __syncthreads ();
  a[threadIdx.x] = s[threadIdx.x % 32];
}
int main ()
{
  short *a;
  cudaMalloc (&a, 64 * sizeof (short));
  put<<<1, 64>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
