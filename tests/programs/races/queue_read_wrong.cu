/* wrong: a place of a queue is read that another block may be about to fill: the counter tells of no write. */
__global__ void take (const int *a, int *queue, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] % 3 == 0)
    {
      int at = atomicAdd (count, 1);
      queue[at] = a[i];
      if (at > 0)
        queue[at] += queue[at - 1] == 0;
    }
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
