/* Conditional nodes of graphs, and objects that graphs hold.  */
#include "check.h"
#include <unistd.h>
#include <vector>

__global__ void set (cudaGraphConditionalHandle handle, const int *value) { cudaGraphSetConditional (handle, *value); }
__global__ void add (int *to, int by) { *to += by; }
__global__ void
count_down (int *left, int *rounds, cudaGraphConditionalHandle handle)
{
  ++*rounds;
  cudaGraphSetConditional (handle, --*left != 0);
}

template <typename... Takes, typename... Given>
static cudaGraphNode_t
launch (cudaGraph_t graph, std::vector<cudaGraphNode_t> before, void (*kernel) (Takes...), Given... given)
{
  cudaGraphNode_t made;
  [&] (Takes... taken) {
    void *arguments[] = { &taken... };
    cudaGraphNodeParams p = { cudaGraphNodeTypeKernel };
    p.kernel.func = (void *) kernel;
    p.kernel.gridDim = p.kernel.blockDim = dim3 (1);
    p.kernel.kernelParams = arguments;
    CHECK (cudaGraphAddNode (&made, graph, before.data (), before.size (), &p));
  }(given...);
  return made;
}

static std::vector<cudaGraph_t>
condition (cudaGraph_t graph, std::vector<cudaGraphNode_t> before, cudaGraphConditionalHandle handle,
           cudaGraphConditionalNodeType type, unsigned size)
{
  cudaGraphNode_t made;
  cudaGraphNodeType kind;
  cudaGraphNodeParams p = { cudaGraphNodeTypeConditional };
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  CHECK (cudaGraphAddNode (&made, graph, before.data (), before.size (), &p));
  CHECK (cudaGraphNodeGetType (made, &kind));
  SAME (kind, cudaGraphNodeTypeConditional);
  return std::vector<cudaGraph_t> (p.conditional.phGraph_out, p.conditional.phGraph_out + size);
}

static cudaGraphConditionalHandle
handle_of (cudaGraph_t graph, unsigned first = 0, unsigned flags = 0)
{
  cudaGraphConditionalHandle handle;
  CHECK (cudaGraphConditionalHandleCreate (&handle, graph, first, flags));
  return handle;
}

static cudaGraphExec_t
run (cudaGraph_t graph, cudaGraphExec_t ready = nullptr)
{
  if (!ready)
    CHECK (cudaGraphInstantiate (&ready, graph, 0));
  CHECK (cudaGraphLaunch (ready, 0));
  CHECK (cudaDeviceSynchronize ());
  return ready;
}

/* Either body of an `if`, by what a kernel finds; then a switch.  */
static void
branches (int *value, int *sum)
{
  cudaGraph_t graph;
  CHECK (cudaGraphCreate (&graph, 0));
  auto handle = handle_of (graph), which = handle_of (graph);
  auto first = launch (graph, {}, set, handle, value), second = launch (graph, { first }, set, which, value);
  auto either = condition (graph, { second }, handle, cudaGraphCondTypeIf, 2);
  launch (either[0], {}, add, sum, 1);
  launch (either[1], {}, add, sum, 10);
  auto cases = condition (graph, { second }, which, cudaGraphCondTypeSwitch, 3);
  for (int i = 0; i < 3; i++)
    launch (cases[i], {}, add, sum, 100 * (i + 1));
  cudaGraphExec_t ready = nullptr;
  const int expected[] = { 110, 201, 301, 1 };
  for (int i = 0; i < 4; i++)
    {
      *value = i;
      *sum = 0;
      ready = run (graph, ready);
      SAME (*sum, expected[i]);
    }
  CHECK (cudaGraphDestroy (graph));
  *value = *sum = 0;
  run (nullptr, ready);
  SAME (*sum, 110);
  CHECK (cudaGraphExecDestroy (ready));
}

/* A loop that is captured, in an `if`, with a copy and a fill; its word gets its first value in each launch.  */
static void
loops (int *left, int *rounds)
{
  cudaGraph_t graph;
  cudaStream_t stream;
  cudaGraphNode_t node;
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaGraphCreate (&graph, 0));
  auto outer = condition (graph, {}, handle_of (graph, 1, cudaGraphCondAssignDefault), cudaGraphCondTypeIf, 1)[0];
  auto again = handle_of (outer, 1, cudaGraphCondAssignDefault);
  auto body = condition (outer, {}, again, cudaGraphCondTypeWhile, 1)[0];
  CHECK (cudaStreamBeginCaptureToGraph (stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  count_down<<<1, 1, 0, stream>>> (left, rounds, again);
  CHECK (cudaMemcpyAsync (left + 1, left, sizeof *left, cudaMemcpyDefault, stream));
  CHECK (cudaMemsetAsync (left + 2, 1, sizeof *left, stream));
  CHECK (cudaStreamEndCapture (stream, nullptr));
  cudaGraphExec_t ready = nullptr;
  for (int times : { 7, 3, 1 })
    {
      *left = times;
      *rounds = left[2] = 0;
      left[1] = 99;
      ready = run (graph, ready);
      SAME (*rounds, times);
      SAME (left[1], 0);
      SAME (left[2], 0x01010101);
    }
  cudaHostNodeParams call = { [] (void *) {}, nullptr };
  CHECK (cudaGraphAddHostNode (&node, body, nullptr, 0, &call));
  cudaGraphExec_t none;
  SAME (cudaGraphInstantiate (&none, graph, 0), cudaErrorNotSupported);
  SAME (cudaGraphDestroy (body), cudaErrorInvalidValue);
  CHECK (cudaGraphDestroy (graph));
  CHECK (cudaGraphExecDestroy (ready));
}

static void
wrong (int *value)
{
  cudaGraph_t graph, other;
  cudaGraphNode_t node;
  CHECK (cudaGraphCreate (&graph, 0));
  CHECK (cudaGraphCreate (&other, 0));
  auto handle = handle_of (graph);
  cudaGraphNodeParams p = { cudaGraphNodeTypeConditional };
  p.conditional.handle = handle;
  p.conditional.type = cudaGraphCondTypeWhile;
  for (unsigned size : { 0u, 2u })
    {
      p.conditional.size = size;
      SAME (cudaGraphAddNode (&node, graph, nullptr, 0, &p), cudaErrorInvalidValue);
    }
  p.conditional.size = 1;
  SAME (cudaGraphAddNode (&node, other, nullptr, 0, &p), cudaErrorInvalidValue);
  CHECK (cudaGraphAddNode (&node, graph, nullptr, 0, &p));
  SAME (cudaGraphAddNode (&node, graph, nullptr, 0, &p), cudaErrorInvalidValue);
  SAME (cudaGraphConditionalHandleCreate (&handle, graph, 0, 2), cudaErrorInvalidValue);
  SAME (cudaGraphConditionalHandleCreate (nullptr, graph, 0, 0), cudaErrorInvalidValue);
  CHECK (cudaGraphDestroy (graph));
  CHECK (cudaGraphDestroy (other));
  (void) value;
}

static int destroyed;

static void
objects (int *sum)
{
  cudaUserObject_t object;
  cudaGraph_t graph;
  auto destroy = [] (void *data) { __atomic_add_fetch (&destroyed, *(int *) data, __ATOMIC_SEQ_CST); };
  static int amount = 5;
  SAME (cudaUserObjectCreate (&object, &amount, destroy, 1, 0), cudaErrorInvalidValue);
  SAME (cudaUserObjectCreate (&object, &amount, destroy, 0, cudaUserObjectNoDestructorSync), cudaErrorInvalidValue);
  CHECK (cudaUserObjectCreate (&object, &amount, destroy, 1, cudaUserObjectNoDestructorSync));
  CHECK (cudaUserObjectRetain (object, 2));
  SAME (cudaUserObjectRelease (object, 4), cudaErrorInvalidValue);
  CHECK (cudaUserObjectRelease (object, 2));
  CHECK (cudaGraphCreate (&graph, 0));
  launch (graph, {}, add, sum, 1);
  CHECK (cudaGraphRetainUserObject (graph, object, 1, cudaGraphUserObjectMove));
  CHECK (cudaGraphRetainUserObject (graph, object));
  CHECK (cudaGraphReleaseUserObject (graph, object));
  SAME (cudaGraphReleaseUserObject (graph, object, 2), cudaErrorInvalidValue);
  cudaGraphExec_t ready;
  CHECK (cudaGraphInstantiate (&ready, graph, 0));
  CHECK (cudaGraphDestroy (graph));
  CHECK (cudaGraphLaunch (ready, 0));
  usleep (2000);
  SAME (destroyed, 0);
  CHECK (cudaGraphExecDestroy (ready));
  CHECK (cudaDeviceSynchronize ());
  for (int i = 0; i < 10000 && !__atomic_load_n (&destroyed, __ATOMIC_SEQ_CST); i++)
    usleep (1000);
  SAME (destroyed, 5);
  SAME (cudaUserObjectRetain (object), cudaErrorInvalidValue);
}

int
main ()
{
  int *values;
  CHECK (cudaMallocManaged (&values, 16 * sizeof *values));
  branches (values, values + 1);
  loops (values + 4, values + 8);
  wrong (values);
  objects (values);
  std::printf ("conditions: right\n");
  return 0;
}
