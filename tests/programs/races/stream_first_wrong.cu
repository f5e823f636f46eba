/* wrong: the other stream reads what the first kernel has written; the second one has read it, and hides nothing. */
__global__ void fill (int *a)
{
  a[threadIdx.x] = threadIdx.x;
}
__global__ void shift (const int *a, int *b)
{
  b[threadIdx.x] = a[(threadIdx.x + 1) % 64];
}
int main ()
{
  cudaStream_t one, two;
  int *a, *b, *c;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMalloc (&b, 64 * sizeof (int));
  cudaMalloc (&c, 64 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  fill<<<1, 64, 0, one>>> (a);
  for (int i = 0; i < 5; i++)
    shift<<<1, 64, 0, one>>> (a, b);
  shift<<<1, 64, 0, two>>> (a, c);
  return cudaDeviceSynchronize () != cudaSuccess;
}
