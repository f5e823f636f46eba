/* right: each stream has its own part of the array, round after round; only the last kernel takes both. */
__global__ void count (int *a, int n)
{
  for (int i = threadIdx.x; i < n; i += 64)
    a[i] += 1;
}
int main ()
{
  cudaStream_t streams[2];
  cudaEvent_t done;
  int *a;
  cudaMalloc (&a, 1000 * sizeof (int));
  cudaMemset (a, 0, 1000 * sizeof (int));
  cudaEventCreate (&done);
  for (int s = 0; s < 2; s++)
    cudaStreamCreate (&streams[s]);
  for (int round = 0; round < 4; round++)
    for (int s = 0; s < 2; s++)
      count<<<1, 64, 0, streams[s]>>> (a + 500 * s, 500);
  cudaEventRecord (done, streams[1]);
  cudaStreamWaitEvent (streams[0], done, 0);
  count<<<1, 64, 0, streams[0]>>> (a, 1000);
  return cudaDeviceSynchronize () != cudaSuccess;
}
