/* right: the program goes on as soon as a function that the stream calls has begun. */
#include <atomic>
static std::atomic<bool> begun, end;
static void begin (void *)
{
  begun = true;
  while (!end)
    {
    }
}
__global__ void count (int *a)
{
  a[threadIdx.x] += 1;
}
int main ()
{
  cudaStream_t one, two;
  int *a;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  cudaStreamCreate (&one);
  cudaStreamCreate (&two);
  count<<<1, 64, 0, one>>> (a);
  cudaLaunchHostFunc (one, begin, nullptr);
  while (!begun)
    {
    }
  count<<<1, 64, 0, two>>> (a);
  end = true;
  return cudaDeviceSynchronize () != cudaSuccess;
}
