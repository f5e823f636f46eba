/* wrong: a copy to the other device does not wait for the kernel that uses what it writes. */
__global__ void twice (int *a)
{
  a[threadIdx.x] *= 2;
}
int main ()
{
  int *a, *b;
  cudaStream_t stream;
  cudaSetDevice (1);
  cudaMalloc (&b, 256 * sizeof (int));
  cudaMemset (b, 0, 256 * sizeof (int));
  cudaDeviceSynchronize ();
  cudaSetDevice (0);
  cudaStreamCreate (&stream);
  cudaMalloc (&a, 256 * sizeof (int));
  cudaMemset (a, 1, 256 * sizeof (int));
  cudaDeviceSynchronize ();
  cudaMemcpyPeerAsync (b, 1, a, 0, 256 * sizeof (int), stream);
  cudaSetDevice (1);
  twice<<<1, 256>>> (b);
  cudaDeviceSynchronize ();
  cudaSetDevice (0);
  return cudaDeviceSynchronize () != cudaSuccess;
}
