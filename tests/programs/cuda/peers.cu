/* Boxes of bytes from one device to another; attributes of a graph's kernels; names of types.  */
#include "check.h"
#include <library_types.h>

static_assert (CUDA_R_32F == 0 && CUDA_C_16BF == 15 && CUDA_R_8F_E5M2 == 29 && PATCH_LEVEL == 2);

__global__ void
empty ()
{
}

static void
boxes (int last)
{
  unsigned char *from, *to, got[64 * 16];
  cudaStream_t stream;
  cudaMemcpy3DPeerParms box = {};
  CHECK (cudaSetDevice (last));
  CHECK (cudaMalloc (&to, sizeof got));
  CHECK (cudaMemset (to, 1, sizeof got));
  CHECK (cudaSetDevice (0));
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaMalloc (&from, sizeof got));
  CHECK (cudaMemset (from, 2, sizeof got));
  box.srcPtr = make_cudaPitchedPtr (from, 16, 16, 8);
  box.dstPtr = make_cudaPitchedPtr (to, 16, 16, 8);
  box.dstPos = make_cudaPos (4, 2, 1);
  box.dstDevice = last;
  box.extent = make_cudaExtent (8, 3, 2);
  CHECK (cudaMemcpy3DPeer (&box));
  CHECK (cudaMemset (from, 3, sizeof got));
  box.dstPos = make_cudaPos (0, 7, 7);
  box.extent = make_cudaExtent (16, 1, 1);
  CHECK (cudaMemcpy3DPeerAsync (&box, stream));
  CHECK (cudaStreamSynchronize (stream));
  CHECK (cudaMemcpy (got, to, sizeof got, cudaMemcpyDefault));
  for (int at = 0; at < 64 * 16; at++)
    {
      int x = at % 16, y = at / 16 % 8, z = at / 128;
      bool in = x >= 4 && x < 12 && y >= 2 && y < 5 && z >= 1 && z < 3;
      SAME ((int)got[at], y == 7 && z == 7 ? 3 : in ? 2 : 1);
    }
  box.dstDevice = 99;
  SAME (cudaMemcpy3DPeer (&box), cudaErrorInvalidDevice);
  SAME (cudaMemcpy3DPeer (nullptr), cudaErrorInvalidValue);
}

static void
attributes ()
{
  cudaGraph_t graph;
  cudaGraphNode_t one, two;
  cudaKernelNodeParams launch = {};
  cudaKernelNodeAttrValue value = {};
  launch.func = (void *)empty;
  launch.gridDim = launch.blockDim = 1;
  CHECK (cudaGraphCreate (&graph, 0));
  CHECK (cudaGraphAddKernelNode (&one, graph, nullptr, 0, &launch));
  CHECK (cudaGraphAddKernelNode (&two, graph, nullptr, 0, &launch));
  value.priority = -3;
  CHECK (cudaGraphKernelNodeSetAttribute (one, cudaKernelNodeAttributePriority, &value));
  CHECK (cudaGraphKernelNodeCopyAttributes (two, one));
  value.priority = 1;
  CHECK (cudaGraphKernelNodeGetAttribute (two, cudaKernelNodeAttributePriority, &value));
  SAME (value.priority, -3);
}

int
main ()
{
  int count;
  CHECK (cudaGetDeviceCount (&count));
  boxes (count - 1);
  attributes ();
  std::puts ("peers: right");
}
