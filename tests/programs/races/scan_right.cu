/* right: two buffers in turns, one barrier a step. */
__global__ void scan (int *a)
{
  __shared__ int t[512];
  int i = threadIdx.x, now = 0;
  t[i] = a[i];
  __syncthreads ();
  for (int step = 1; step < 256; step *= 2)
    {
      t[256 - now + i] = t[now + i] + (i >= step ? t[now + i - step] : 0);
      now = 256 - now;
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
