/* wrong: nothing puts the write in an order with the reads; it is queued before the program knows of these, and is done
   after a kernel that comes behind them. */
#include <atomic>
static std::atomic<bool> late { false };
static void wait_for_it (void *)
{
  while (!late)
    ;
}
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
  int *a, *b;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMalloc (&b, 64 * sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  cudaDeviceSynchronize ();
  cudaStreamCreateWithFlags (&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags (&two, cudaStreamNonBlocking);
  cudaLaunchHostFunc (two, wait_for_it, nullptr);
  fill<<<1, 64, 0, two>>> (a);
  shift<<<1, 64, 0, one>>> (a, b);
  cudaStreamSynchronize (one);
  fill<<<1, 64, 0, one>>> (b);
  cudaStreamSynchronize (one);
  late = true;
  return cudaDeviceSynchronize () != cudaSuccess;
}
