/* right: the second stream waits for the graph, whose kernel is in a conditional body.  */
__global__ void count (int *a, int *left, cudaGraphConditionalHandle again)
{
  a[threadIdx.x] += 3;
  if (threadIdx.x == 0)
    cudaGraphSetConditional (again, --*left > 0);
}
__global__ void twice (const int *a, int *b)
{
  b[threadIdx.x] = 2 * a[threadIdx.x];
}
int main ()
{
  cudaStream_t one, two;
  cudaEvent_t counted;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t node;
  cudaGraphNodeParams loop = { cudaGraphNodeTypeConditional };
  int *a, *b, *left, rounds = 3;
  cudaMalloc (&a, 64 * sizeof (int));
  cudaMalloc (&b, 64 * sizeof (int));
  cudaMalloc (&left, sizeof (int));
  cudaMemset (a, 0, 64 * sizeof (int));
  cudaMemcpy (left, &rounds, sizeof (int), cudaMemcpyHostToDevice);
  cudaStreamCreateWithFlags (&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags (&two, cudaStreamNonBlocking);
  cudaEventCreate (&counted);
  cudaGraphCreate (&graph, 0);
  cudaGraphConditionalHandleCreate (&loop.conditional.handle, graph, 1, cudaGraphCondAssignDefault);
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  cudaGraphAddNode (&node, graph, nullptr, 0, &loop);
  cudaStreamBeginCaptureToGraph (one, loop.conditional.phGraph_out[0], nullptr, nullptr, 0, cudaStreamCaptureModeGlobal);
  count<<<1, 64, 0, one>>> (a, left, loop.conditional.handle);
  cudaStreamEndCapture (one, nullptr);
  cudaGraphInstantiate (&ready, graph, 0);
  cudaGraphLaunch (ready, one);
  cudaEventRecord (counted, one);
  cudaStreamWaitEvent (two, counted, 0);
  twice<<<1, 64, 0, two>>> (a, b);
  return cudaDeviceSynchronize () != cudaSuccess;
}
