/* right: decoupled look-back: a block's sum, a fence, its state; the state, a fence, the sum. */
__device__ volatile int state[16];
__device__ int upto[16];
__global__ void scan (const int *a, int *out)
{
  __shared__ int tile[64], before;
  int i = threadIdx.x, at = blockIdx.x * 64 + i;
  tile[i] = a[at];
  __syncthreads ();
  for (int step = 1; step < 64; step *= 2)
    {
      int more = i >= step ? tile[i - step] : 0;
      __syncthreads ();
      tile[i] += more;
      __syncthreads ();
    }
  if (i == 0)
    {
      int sum = 0;
      if (blockIdx.x > 0)
        {
          while (state[blockIdx.x - 1] == 0)
            ;
          __threadfence ();
          sum = upto[blockIdx.x - 1];
        }
      upto[blockIdx.x] = sum + tile[63];
      __threadfence ();
      state[blockIdx.x] = 1;
      before = sum;
    }
  __syncthreads ();
  out[at] = before + tile[i];
}
int main ()
{
  int *a, *out, bad = 0;
  cudaMallocManaged (&a, 1024 * sizeof (int));
  cudaMallocManaged (&out, 1024 * sizeof (int));
  for (int i = 0; i < 1024; i++)
    a[i] = i % 7;
  scan<<<16, 64>>> (a, out);
  if (cudaDeviceSynchronize () != cudaSuccess)
    return 1;
  for (int i = 0, sum = 0; i < 1024; i++)
    bad |= out[i] != (sum += a[i]);
  return bad;
}
