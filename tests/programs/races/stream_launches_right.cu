/* right: an executable's launches come one after the other, in whatever streams they are.  */
__global__ void count (int *a)
{
  a[threadIdx.x] += 3;
}
int main ()
{
  cudaStream_t one, two;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  int *a, sum = 0, got[64];
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  cudaStreamCreateWithFlags (&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags (&two, cudaStreamNonBlocking);
  cudaDeviceSynchronize ();
  cudaStreamBeginCapture (one, cudaStreamCaptureModeGlobal);
  count<<<1, 64, 0, one>>> (a);
  cudaStreamEndCapture (one, &graph);
  cudaGraphInstantiate (&ready, graph, 0);
  for (int i = 0; i < 4; i++)
    {
      cudaGraphLaunch (ready, one);
      cudaGraphLaunch (ready, two);
    }
  cudaDeviceSynchronize ();
  cudaMemcpy (got, a, sizeof got, cudaMemcpyDeviceToHost);
  for (int word : got)
    sum += word;
  return sum != 64 * 8 * 3;
}
