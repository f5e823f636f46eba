/* wrong: the counter of a queue is read and written, not added to by an atomic operation. */
__global__ void take (const int *a, int *queue, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] % 3 == 0)
    queue[(*count)++] = a[i];
}
int main ()
{
  int *a, *queue;
  cudaMallocManaged (&a, 1024 * sizeof (int));
  cudaMallocManaged (&queue, 1025 * sizeof (int));
  cudaMemset (queue, 0, 1025 * sizeof (int));
  for (int i = 0; i < 1024; i++)
    a[i] = i;
  take<<<8, 128>>> (a, queue, queue + 1024);
  return cudaDeviceSynchronize () != cudaSuccess;
}
