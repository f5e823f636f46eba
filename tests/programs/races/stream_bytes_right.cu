/* right: two streams and their lanes write bytes of the same words, each its own. */
__global__ void put (char *a)
{
  a[2 * threadIdx.x + threadIdx.x % 2] = threadIdx.x;
}
int main ()
{
  cudaStream_t one, two;
  char *a;
  cudaMalloc (&a, 132);
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  put<<<1, 64, 0, one>>> (a);
  put<<<1, 64, 0, two>>> (a + 2);
  return cudaDeviceSynchronize () != cudaSuccess;
}
