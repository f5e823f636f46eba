/* right: a barrier in each step. */
__global__ void sum (const float *a, float *out)
{
  __shared__ float t[256];
  int i = threadIdx.x;
  t[i] = a[blockIdx.x * 256 + i];
  __syncthreads ();
  for (int step = 128; step > 0; step /= 2)
    {
      if (i < step)
        t[i] += t[i + step];
      __syncthreads ();
    }
  if (i == 0)
    out[blockIdx.x] = t[0];
}
int main ()
{
  float *a, *out;
  cudaMallocManaged (&a, 1024 * sizeof (float));
  cudaMallocManaged (&out, 4 * sizeof (float));
  cudaMemset (a, 0, 1024 * sizeof (float));
  sum<<<4, 256>>> (a, out);
  return cudaDeviceSynchronize () != cudaSuccess;
}
