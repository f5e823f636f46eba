/* Heat in a plate: the mean of four neighbours, in a stream, with weights in constant memory.  */
#include "stencil.h"
#include "common.cuh"
#include <utility>

__constant__ float weights[2];

__global__ void
step_plate (const float *from, float *to, int width, int height)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  int i = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
    to[i] = from[i];
  else
    to[i] = weights[0] * from[i] + weights[1] * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]);
}

static void
heat (float *plate, int width, int height)
{
  size_t size = (size_t) width * height;
  float *from = device_array<float> (size), *to = device_array<float> (size);
  cudaStream_t stream;
  CHECK (cudaMemcpyToSymbol (weights, heat_weights, sizeof weights));
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaMemcpyAsync (from, plate, size * sizeof *from, cudaMemcpyHostToDevice, stream));
  CHECK (cudaStreamSynchronize (stream));
  kernels_begin ();
  dim3 block (32, 4), grid ((width + 31) / 32, (height + 3) / 4);
  for (int i = 0; i < steps; i++, std::swap (from, to))
    step_plate<<<grid, block, 0, stream>>> (from, to, width, height);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  CHECK (cudaMemcpyAsync (plate, from, size * sizeof *from, cudaMemcpyDeviceToHost, stream));
  CHECK (cudaStreamSynchronize (stream));
  CHECK (cudaStreamDestroy (stream));
  device_free ({ from, to });
}
