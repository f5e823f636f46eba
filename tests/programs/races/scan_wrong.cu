/* wrong: one buffer, which neighbours read while it is written. */
__global__ void scan (int *a)
{
  __shared__ int t[256];
  int i = threadIdx.x, now = 0;
  t[i] = a[i];
  __syncthreads ();
  for (int step = 1; step < 256; step *= 2)
    {
      if (i >= step)
        t[i] += t[i - step];
      __syncthreads ();
    }
  a[i] = t[now + i];
}
int main ()
{
  int *a;
  cudaMallocManaged (&a, 256 * sizeof (int));
  cudaMemset (a, 0, 256 * sizeof (int));
  scan<<<1, 256>>> (a);
  return cudaDeviceSynchronize () != cudaSuccess;
}
