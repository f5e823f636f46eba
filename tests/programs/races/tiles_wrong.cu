/* wrong: the next tile is loaded while others use this one. */
#define T 16
__global__ void multiply (const float *a, const float *b, float *c, int n)
{
  __shared__ float s[T][T], t[T][T];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int m = 0; m < n; m += T)
    {
      s[threadIdx.y][threadIdx.x] = a[row * n + m + threadIdx.x];
      t[threadIdx.y][threadIdx.x] = b[(m + threadIdx.y) * n + column];
      __syncthreads ();
      for (int k = 0; k < T; k++)
        sum += s[threadIdx.y][k] * t[k][threadIdx.x];
    }
  c[row * n + column] = sum;
}
int main ()
{
  float *a, *b, *c;
  int n = 64;
  cudaMallocManaged (&a, n * n * sizeof (float));
  cudaMallocManaged (&b, n * n * sizeof (float));
  cudaMallocManaged (&c, n * n * sizeof (float));
  cudaMemset (a, 0, n * n * sizeof (float));
  cudaMemset (b, 0, n * n * sizeof (float));
  multiply<<<dim3 (n / T, n / T), dim3 (T, T)>>> (a, b, c, n);
  return cudaDeviceSynchronize () != cudaSuccess;
}
