/* Graphs by libcudart's calls, from C: captured and explicit ones, their nodes changed and asked for.  */
#include "cudart_checks.h"

static char add_stub, amount;
static int calls;

static void
count (void *data)
{
  calls += *(int *) data;
}

static struct cudaKernelNodeParams
launch (int **array, int *n)
{
  static void *arguments[2];
  struct cudaKernelNodeParams k = { &add_stub, { 1, 1, 1 }, { 32, 1, 1 }, 0, arguments, NULL };
  arguments[0] = array;
  arguments[1] = n;
  return k;
}

static void
captured (int *d)
{
  int a[32] = { 0 }, b[32] = { 0 }, n = 32, one = 1;
  unsigned long long id = 0;
  size_t count_of = 9;
  cudaStream_t s, t;
  cudaEvent_t fork, join;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t ready;
  enum cudaStreamCaptureStatus status;
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };
  void *arguments[] = { &d, &n };
  OK (cudaStreamCreateWithFlags (&s, cudaStreamNonBlocking));
  OK (cudaStreamCreateWithFlags (&t, cudaStreamNonBlocking));
  OK (cudaEventCreateWithFlags (&fork, cudaEventDisableTiming));
  OK (cudaEventCreateWithFlags (&join, cudaEventDisableTiming));
  OK (cudaStreamBeginCapture (s, cudaStreamCaptureModeGlobal));
  OK (cudaStreamIsCapturing (s, &status));
  HOLDS (status == cudaStreamCaptureStatusActive);
  OK (cudaMemcpyAsync (d, a, sizeof a, cudaMemcpyHostToDevice, s));
  OK (cudaLaunchKernel (&add_stub, grid, block, arguments, 0, s));
  OK (cudaEventRecord (fork, s));
  OK (cudaStreamWaitEvent (t, fork, 0));
  OK (cudaMemcpyAsync (b, d, sizeof b, cudaMemcpyDeviceToHost, t));
  OK (cudaLaunchHostFunc (t, count, &one));
  OK (cudaEventRecord (join, t));
  OK (cudaStreamWaitEvent (s, join, 0));
  OK (cudaStreamGetCaptureInfo (s, &status, &id, NULL, NULL, &count_of));
  HOLDS (id > 0 && count_of == 2);
  OK (cudaStreamEndCapture (s, &graph));
  OK (cudaGraphInstantiate (&ready, graph, 0));
  HOLDS (b[31] == 0 && calls == 0);
  a[31] = 5;
  OK (cudaGraphLaunch (ready, s));
  OK (cudaStreamSynchronize (s));
  HOLDS (b[31] == 8 && b[0] == 3 && calls == 1);
  OK (cudaStreamBeginCapture (s, cudaStreamCaptureModeGlobal));
  IS (cudaStreamSynchronize (s), cudaErrorStreamCaptureUnsupported);
  IS (cudaGetLastError (), cudaErrorStreamCaptureUnsupported);
  IS (cudaStreamEndCapture (s, &graph), cudaErrorStreamCaptureInvalidated);
  HOLDS (graph == NULL);
  OK (cudaThreadExchangeStreamCaptureMode (&mode));
  HOLDS (mode == cudaStreamCaptureModeGlobal);
  IS (cudaEventRecordWithFlags (fork, s, cudaEventRecordExternal), cudaErrorInvalidValue);
  OK (cudaEventRecordWithFlags (fork, s, cudaEventRecordDefault));
  OK (cudaGraphExecDestroy (ready));
  cudaGetLastError ();
}

static void
explicit (int *d)
{
  int a[32] = { 0 }, b[64] = { 0 }, n = 32, few = 1, two = 2, more = 40, value = 0;
  cudaGraph_t graph, inner, clone;
  cudaGraphNode_t first, kernel, back, host, child, nodes[8];
  cudaGraphExec_t ready;
  size_t size = 8;
  enum cudaGraphNodeType type;
  struct cudaKernelNodeParams k = launch (&d, &n), got;
  struct cudaMemsetParams fill = { d, 0, 7, 4, 32, 1 };
  struct cudaHostNodeParams call = { count, &two };
  struct cudaMemcpy3DParms cuboid = { 0 };
  struct cudaGraphExecUpdateResultInfo result;
  calls = 0;
  OK (cudaGraphCreate (&graph, 0));
  OK (cudaGraphAddMemsetNode (&first, graph, NULL, 0, &fill));
  OK (cudaGraphAddKernelNode (&kernel, graph, &first, 1, &k));
  OK (cudaGraphAddMemcpyNode1D (&back, graph, &kernel, 1, a, d, sizeof a, cudaMemcpyDeviceToHost));
  OK (cudaGraphAddHostNode (&host, graph, &back, 1, &call));
  OK (cudaGraphCreate (&inner, 0));
  OK (cudaGraphAddMemcpyNodeToSymbol (&child, inner, NULL, 0, &amount, &more, 4, 0, cudaMemcpyHostToDevice));
  OK (cudaGraphAddChildGraphNode (&child, graph, &host, 1, inner));
  OK (cudaGraphAddMemcpyNodeFromSymbol (&nodes[0], graph, &child, 1, &value, &amount, 4, 0, cudaMemcpyDeviceToHost));
  OK (cudaGraphGetNodes (graph, nodes, &size));
  HOLDS (size == 6 && nodes[1] == kernel && nodes[7] == NULL);
  OK (cudaGraphNodeGetType (child, &type));
  HOLDS (type == cudaGraphNodeTypeGraph);
  OK (cudaGraphKernelNodeGetParams (kernel, &got));
  HOLDS (got.func == &add_stub && got.blockDim.x == 32 && *(int **) got.kernelParams[0] == d);
  OK (cudaGraphInstantiateWithFlags (&ready, graph, 0));
  OK (cudaGraphLaunch (ready, 0));
  OK (cudaDeviceSynchronize ());
  HOLDS (a[0] == 10 && a[31] == 10 && calls == 2 && value == 40);
  few = 1;
  k = launch (&d, &few);
  OK (cudaGraphExecKernelNodeSetParams (ready, kernel, &k));
  fill.value = 1;
  OK (cudaGraphExecMemsetNodeSetParams (ready, first, &fill));
  OK (cudaGraphLaunch (ready, 0));
  OK (cudaDeviceSynchronize ());
  HOLDS (a[0] == 41 && a[1] == 1);
  OK (cudaGraphClone (&clone, graph));
  OK (cudaGraphNodeFindInClone (&nodes[0], back, clone));
  cuboid.srcPtr = make_cudaPitchedPtr (d, 32, 32, 4);
  cuboid.dstPtr = make_cudaPitchedPtr (b, 64, 64, 4);
  cuboid.dstPos = make_cudaPos (32, 0, 0);
  cuboid.extent = make_cudaExtent (32, 4, 1);
  cuboid.kind = cudaMemcpyDeviceToHost;
  OK (cudaGraphMemcpyNodeSetParams (nodes[0], &cuboid));
  OK (cudaGraphExecUpdate (ready, clone, &result));
  HOLDS (result.result == cudaGraphExecUpdateSuccess);
  OK (cudaGraphLaunch (ready, 0));
  OK (cudaDeviceSynchronize ());
  HOLDS (b[7] == 0 && b[8] == 47 && b[63] == 47 && a[0] == 41);
  memset (&cuboid, 0, sizeof cuboid);
  OK (cudaGraphMemcpyNodeGetParams (nodes[0], &cuboid));
  HOLDS (cuboid.extent.height == 4 && cuboid.dstPtr.ptr == b && cuboid.dstPos.x == 32
         && cuboid.kind == cudaMemcpyDeviceToHost);
  b[8] = 0;
  OK (cudaMemcpy3D (&cuboid));
  HOLDS (b[8] == 47);
  IS (cudaGraphExecUpdate (ready, inner, &result), cudaErrorGraphExecUpdateFailure);
  HOLDS (result.result == cudaGraphExecUpdateErrorTopologyChanged);
  k.func = b;
  IS (cudaGraphAddKernelNode (&kernel, graph, NULL, 0, &k), cudaErrorInvalidDeviceFunction);
  IS (cudaGraphAddKernelNode (&kernel, graph, NULL, 0, NULL), cudaErrorInvalidValue);
  OK (cudaGraphDestroy (inner));
  OK (cudaGraphDestroy (graph));
  IS (cudaGraphDestroy (graph), cudaErrorInvalidValue);
}

int
main (void)
{
  int *d;
  void **handle = __cudaRegisterFatBinary (&wrapper);
  __cudaRegisterFunction (handle, &add_stub, "add", "add", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterVar (handle, &amount, "amount", "amount", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd (handle);
  OK (cudaMalloc ((void **) &d, 128));
  captured (d);
  explicit (d);
  OK (cudaFree (d));
  puts ("all is well");
}
