/* right: threads take places of a queue by an atomic counter, and each writes its own. */
__global__ void take (const int *a, int *queue, int *count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (a[i] % 3 == 0)
    queue[atomicAdd (count, 1)] = a[i];
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
  return cudaDeviceSynchronize () != cudaSuccess || queue[1024] != 342;
}
