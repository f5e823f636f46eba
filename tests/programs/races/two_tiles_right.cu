/* right: two buffers in shared memory: one is filled while the other is read, with a barrier a step. */
__global__ void sums (const int *a, int *out, int steps)
{
  __shared__ int tile[2][128];
  int i = threadIdx.x, sum = 0;
  tile[0][i] = a[i];
  for (int s = 0; s < steps; s++)
    {
      __syncthreads ();
      if (s + 1 < steps)
        tile[(s + 1) % 2][i] = a[(s + 1) * 128 + i];
      sum += tile[s % 2][(i + 37) % 128];
    }
  out[i] = sum;
}
int main ()
{
  int *a, *out;
  cudaMallocManaged (&a, 1024 * sizeof (int));
  cudaMallocManaged (&out, 128 * sizeof (int));
  for (int i = 0; i < 1024; i++)
    a[i] = 1;
  sums<<<1, 128>>> (a, out, 8);
  return cudaDeviceSynchronize () != cudaSuccess || out[77] != 8;
}
