/* Memory that a graph allocates and frees: by nodes, and by a stream that is captured.  */
#include "check.h"

__global__ void
fill (int *to, int with)
{
  to[threadIdx.x] = with + threadIdx.x;
}

__global__ void
add (int *to, const int *from)
{
  to[threadIdx.x] += from[threadIdx.x];
}

static void
by_nodes (int *out)
{
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t node, first, second, last;
  cudaMemAllocNodeParams want = {};
  unsigned long long used, high;
  CHECK (cudaGraphCreate (&graph, 0));
  want.poolProps.allocType = cudaMemAllocationTypePinned;
  want.poolProps.location.type = cudaMemLocationTypeDevice;
  want.bytesize = 32 * sizeof (int);
  CHECK (cudaGraphAddMemAllocNode (&node, graph, nullptr, 0, &want));
  int with = 100;
  void *fills[] = { &want.dptr, &with }, *adds[] = { &out, &want.dptr };
  cudaKernelNodeParams k = {};
  k.func = (void *) fill, k.gridDim = 1, k.blockDim = 32, k.kernelParams = fills;
  CHECK (cudaGraphAddKernelNode (&first, graph, &node, 1, &k));
  k.func = (void *) add, k.kernelParams = adds;
  CHECK (cudaGraphAddKernelNode (&second, graph, &first, 1, &k));
  CHECK (cudaGraphAddMemFreeNode (&last, graph, &second, 1, want.dptr));
  CHECK (cudaGraphInstantiate (&ready, graph));
  for (int i = 0; i < 3; i++)
    CHECK (cudaGraphLaunch (ready, 0));
  CHECK (cudaDeviceSynchronize ());
  CHECK (cudaDeviceGetGraphMemAttribute (0, cudaGraphMemAttrUsedMemCurrent, &used));
  CHECK (cudaDeviceGetGraphMemAttribute (0, cudaGraphMemAttrUsedMemHigh, &high));
  SAME (used, 0ull);
  SAME (high >= want.bytesize, true);
  CHECK (cudaGraphExecDestroy (ready));
  CHECK (cudaGraphDestroy (graph));
  CHECK (cudaDeviceGraphMemTrim (0));
}

static void
by_capture (int *out)
{
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  int *part;
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaStreamBeginCapture (stream, cudaStreamCaptureModeGlobal));
  CHECK (cudaMallocAsync (&part, 32 * sizeof (int), stream));
  fill<<<1, 32, 0, stream>>> (part, 1000);
  add<<<1, 32, 0, stream>>> (out, part);
  CHECK (cudaFreeAsync (part, stream));
  CHECK (cudaStreamEndCapture (stream, &graph));
  CHECK (cudaGraphInstantiate (&ready, graph));
  for (int i = 0; i < 2; i++)
    CHECK (cudaGraphLaunch (ready, stream));
  CHECK (cudaStreamSynchronize (stream));
}

int
main ()
{
  int *out, host[32];
  CHECK (cudaMalloc (&out, sizeof host));
  CHECK (cudaMemset (out, 0, sizeof host));
  by_nodes (out);
  by_capture (out);
  CHECK (cudaMemcpy (host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; i++)
    SAME (host[i], 3 * (100 + i) + 2 * (1000 + i));
  std::puts ("graph_memory: right");
}
