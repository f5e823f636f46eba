/* Graphs in CUDA C++: an iteration that is captured once and launched often; CUDA 11's form of instantiation.  */
#include <cstdio>

__device__ int steps = 1;

__global__ void
advance (int *x)
{
  x[threadIdx.x] += steps;
}

#define CHECK(call) \
  if (cudaError_t e = call) \
    { \
      printf ("%s: %s\n", #call, cudaGetErrorName (e)); \
      return 1; \
    }

int
main ()
{
  int host[32], *x, more = 10;
  char log[16] = "?";
  unsigned long long id;
  cudaStream_t stream;
  cudaStreamCaptureStatus status;
  cudaGraph_t graph, other;
  cudaGraphExec_t ready, changed;
  cudaGraphNode_t node, wrong;
  CHECK (cudaMalloc (&x, sizeof host));
  CHECK (cudaMemset (x, 0, sizeof host));
  CHECK (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  CHECK (cudaStreamBeginCapture (stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 5; i++)
    advance<<<1, 32, 0, stream>>> (x);
  CHECK (cudaStreamGetCaptureInfo (stream, &status, &id));
  CHECK (cudaStreamEndCapture (stream, &graph));
  CHECK (cudaGraphInstantiate (&ready, graph, &wrong, log, sizeof log));
  for (int i = 0; i < 20; i++)
    CHECK (cudaGraphLaunch (ready, stream));
  CHECK (cudaGraphCreate (&other, 0));
  CHECK (cudaGraphAddMemcpyNodeToSymbol (&node, other, nullptr, 0, steps, &more, sizeof more, 0,
                                         cudaMemcpyHostToDevice));
  void *arguments[] = { &x };
  cudaKernelNodeParams k = {};
  k.func = (void *) advance;
  k.gridDim = 1;
  k.blockDim = 32;
  k.kernelParams = arguments;
  CHECK (cudaGraphAddKernelNode (&node, other, &node, 1, &k));
  CHECK (cudaGraphInstantiate (&changed, other));
  CHECK (cudaGraphLaunch (changed, stream));
  CHECK (cudaStreamSynchronize (stream));
  CHECK (cudaMemcpy (host, x, sizeof host, cudaMemcpyDeviceToHost));
  printf ("%d %d %d %d\n", status == cudaStreamCaptureStatusActive, host[0], host[31], log[0]);
}
