/* right: an event puts the write behind the reads; it is queued before the program knows of these, and is done
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
  cudaEvent_t read;
  int *a, *b;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMalloc (&b, 64 * sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  cudaDeviceSynchronize ();
  cudaStreamCreateWithFlags (&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags (&two, cudaStreamNonBlocking);
  cudaLaunchHostFunc (two, wait_for_it, nullptr);
  shift<<<1, 64, 0, one>>> (a, b);
  cudaEventCreate (&read);
  cudaEventRecord (read, one);
  cudaStreamWaitEvent (two, read, 0);
  fill<<<1, 64, 0, two>>> (a);
  cudaStreamSynchronize (one);
  fill<<<1, 64, 0, one>>> (b);
  cudaStreamSynchronize (one);
  late = true;
  return cudaDeviceSynchronize () != cudaSuccess;
}
