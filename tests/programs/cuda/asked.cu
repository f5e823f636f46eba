/* What courses' programs ask the runtime: what was said of managed memory, rows that overlap, how much shared memory is
   left.  What they ask of the headers: hints for caches, numbers that are none, names of short floats.  */
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void
sum (int *to, int n)
{
  extern __shared__ int part[];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    part[i] = i;
  __syncthreads ();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    atomicAdd (to, part[n - 1 - i]);
}

__global__ void
names (float *to)
{
  to[0] = __half2float (CUDART_ONE_FP16) + __half2float (CUDART_MAX_NORMAL_FP16);
  to[1] = __bfloat162float (CUDART_ONE_BF16);
  to[2] = __hisnan (CUDART_NAN_FP16) + 2 * __hisnan (CUDART_NAN_BF16) + 4 * __hisinf (CUDART_INF_FP16)
          + 8 * __hisinf (CUDART_INF_BF16);
}

__global__ void __cluster_dims__ (1, 1, 1)
hints (double *to, float4 *four)
{
  to[0] = nan ("") + std::nan ("1");
  to[1] = nanf ("");
  __stcg (to + 2, 1);
  __stcs (to + 3, 2.f);
  __stwb (to + 4, 4);
  __stwt (to + 5, 8);
  to[6] = __ldca (to + 2) + __ldcg (to + 3) + __ldcs (to + 4) + __ldcv (to + 5) + __ldlu (to + 2);
  __stwt (four, make_float4 (1, 2, 3, 4));
  to[7] = __ldcg (four).w;
}

static void
ranges (int device)
{
  int *memory, mostly = 9, place = 9, reader[2], last = 9;
  CHECK (cudaMallocManaged (&memory, 1 << 16));
  CHECK (cudaMemAdvise (memory, 1 << 16, cudaMemAdviseSetReadMostly, device));
  CHECK (cudaMemAdvise (memory, 1 << 16, cudaMemAdviseSetAccessedBy, device));
  CHECK (cudaMemPrefetchAsync (memory, 1 << 16, cudaCpuDeviceId));
  CHECK (cudaMemRangeGetAttribute (&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, memory, 1 << 16));
  SAME (mostly, 1);
  void *to[] = { &place, reader, &last };
  size_t sizes[] = { sizeof place, sizeof reader, sizeof last };
  cudaMemRangeAttribute which[] = { cudaMemRangeAttributePreferredLocation, cudaMemRangeAttributeAccessedBy,
                                    cudaMemRangeAttributeLastPrefetchLocation };
  CHECK (cudaMemRangeGetAttributes (to, sizes, which, 3, memory, 1 << 16));
  SAME (place, cudaInvalidDeviceId);
  SAME (reader[0], device);
  SAME (reader[1], cudaInvalidDeviceId);
  SAME (last, cudaCpuDeviceId);
  SAME (cudaMemRangeGetAttribute (&mostly, 3, cudaMemRangeAttributeReadMostly, memory, 4), cudaErrorInvalidValue);
  SAME (cudaGetLastError (), cudaErrorInvalidValue);
  CHECK (cudaFree (memory));
}

static void
rows ()
{
  char *pitched, host[64];
  size_t pitch;
  CHECK (cudaMallocPitch (&pitched, &pitch, 16, 4));
  SAME (cudaMemcpy2D (host, 8, pitched, pitch, 16, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
  SAME (cudaGetLastError (), cudaErrorInvalidPitchValue);
  SAME (cudaMemcpy2DAsync (pitched, pitch, host, 15, 16, 4, cudaMemcpyHostToDevice, 0), cudaErrorInvalidPitchValue);
  SAME (cudaMemcpy2D (host, 16, nullptr, pitch, 16, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  SAME (cudaGetLastError (), cudaErrorInvalidValue);
  CHECK (cudaMemcpy2D (host, 16, pitched, pitch, 16, 4, cudaMemcpyDeviceToHost));
  CHECK (cudaFree (pitched));
}

static void
shared (int device)
{
  int blocks, blocks_too, most, n, *to;
  size_t left;
  CHECK (cudaOccupancyMaxActiveBlocksPerMultiprocessor (&blocks, sum, 128, 1024));
  CHECK (cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (&blocks_too, sum, 128, 1024, cudaOccupancyDefault));
  SAME (blocks, blocks_too);
  CHECK (cudaOccupancyAvailableDynamicSMemPerBlock (&left, sum, 2, 128));
  SAME (left >= 32768, true);
  CHECK (cudaDeviceGetAttribute (&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CHECK (cudaFuncSetAttribute (sum, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  CHECK (cudaFuncSetAttribute (sum, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  CHECK (cudaMallocManaged (&to, 4));
  *to = 0;
  n = most / 4;
  sum<<<1, 128, most>>> (to, n);
  CHECK (cudaDeviceSynchronize ());
  SAME (*to, n * (n - 1) / 2);
}

int
main ()
{
  int device;
  float *to;
  CHECK (cudaGetDevice (&device));
  ranges (device);
  rows ();
  shared (device);
  CHECK (cudaMallocManaged (&to, 3 * sizeof (float)));
  names<<<1, 1>>> (to);
  CHECK (cudaDeviceSynchronize ());
  SAME (to[0], 65505.f);
  SAME (to[1], 1.f);
  SAME (to[2], 15.f);
  double *numbers;
  CHECK (cudaMallocManaged (&numbers, 16 * sizeof (double)));
  hints<<<1, 1>>> (numbers, (float4 *) (numbers + 8));
  CHECK (cudaDeviceSynchronize ());
  SAME (isnan (numbers[0]) && isnan (numbers[1]), true); /* without std::, as nvcc has it */
  SAME (numbers[6], 16);
  SAME (numbers[7], 4);
  std::printf ("asked: right\n");
  return 0;
}
