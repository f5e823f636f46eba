/* Arguments that C++ may leave out, as most programs do: streams, flags, offsets, kinds.  */
#include "check.h"
#include <cuda_runtime.h>
__constant__ int table[64];
__global__ void
copy (int *x)
{
  x[threadIdx.x] = table[threadIdx.x] + 1;
}
int
main ()
{
  int in[64], out[64] = {}, *d, *other, *shared;
  cudaEvent_t begin, end;
  cudaStream_t stream;
  float ms = -1;
  for (int i = 0; i < 64; i++)
    in[i] = 3 * i;
  CHECK (cudaMalloc (&d, sizeof in));
  CHECK (cudaMalloc (&other, sizeof in));
  CHECK (cudaMallocManaged (&shared, sizeof in));
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaEventCreate (&begin));
  CHECK (cudaEventCreate (&end));
  CHECK (cudaEventRecord (begin));
  CHECK (cudaMemcpyToSymbolAsync (table, in, sizeof in));
  CHECK (cudaMemsetAsync (d, 0, sizeof in));
  copy<<<1, 64>>> (d);
  CHECK (cudaEventRecordWithFlags (end));
  CHECK (cudaStreamWaitEvent (stream, end));
  CHECK (cudaMemcpyAsync (out, d, sizeof out, cudaMemcpyDeviceToHost));
  CHECK (cudaEventSynchronize (end));
  CHECK (cudaDeviceSynchronize ());
  CHECK (cudaEventElapsedTime (&ms, begin, end));
  SAME (ms >= 0, true);
  for (int i = 0; i < 64; i++)
    SAME (out[i], 3 * i + 1);

  CHECK (cudaMemcpyFromSymbolAsync (out, table, sizeof out));
  CHECK (cudaMemPrefetchAsync (shared, sizeof in, 0));
  CHECK (cudaStreamAttachMemAsync (stream, shared));
  CHECK (cudaDeviceSynchronize ());
  SAME (out[63], 189);
  CHECK (cudaMemset2DAsync (other, 32, 1, 16, 8));
  CHECK (cudaMemcpy2DAsync (d, 32, other, 32, 16, 8, cudaMemcpyDeviceToDevice));
  CHECK (cudaMemcpyPeerAsync (other, 0, d, 0, sizeof in));
  CHECK (cudaMemcpy (out, other, sizeof out, cudaMemcpyDeviceToHost));
  SAME (out[8], 0x01010101);

  cudaArray_t line, box, second;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int> ();
  CHECK (cudaMallocArray (&line, &format, 64));
  CHECK (cudaMallocArray (&second, &format, 8, 8));
  CHECK (cudaMalloc3DArray (&box, &format, make_cudaExtent (4, 4, 4)));
  CHECK (cudaMemcpy2DToArrayAsync (line, 0, 0, in, sizeof in, sizeof in, 1, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy2DToArray (second, 0, 0, in, 32, 32, 8, cudaMemcpyHostToDevice));
  CHECK (cudaMemcpy2DFromArrayAsync (out, sizeof out, line, 0, 0, sizeof out, 1, cudaMemcpyDeviceToHost));
  CHECK (cudaDeviceSynchronize ());
  SAME (out[5], 15);
  CHECK (cudaFreeArray (box));

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  CHECK (cudaStreamBeginCapture (stream, cudaStreamCaptureModeGlobal));
  copy<<<1, 64, 0, stream>>> (other);
  CHECK (cudaStreamGetCaptureInfo (stream, &status));
  SAME (status, cudaStreamCaptureStatusActive);
  CHECK (cudaStreamGetCaptureInfo (stream, &status, &id));
  CHECK (cudaStreamEndCapture (stream, &graph));
  CHECK (cudaGraphInstantiate (&exec, graph));
  CHECK (cudaGraphLaunch (exec, stream));
  CHECK (cudaStreamSynchronize (stream));
  CHECK (cudaMemcpy (out, other, sizeof out, cudaMemcpyDeviceToHost));
  SAME (out[7], 22);
  std::printf ("defaults: right\n");
  return 0;
}
