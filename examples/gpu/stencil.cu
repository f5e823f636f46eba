/* Heat in a plate: the mean of four neighbours, in a stream, with weights in constant memory.  */
#include "check.h"
#include <utility>
#include <vector>

__constant__ float weights[2];

__global__ void
step (const float *from, float *to, int width, int height)
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

int
main ()
{
  const int width = 75, height = 50, steps = 20;
  const float w[2] = { 0.5f, 0.125f };
  std::vector<float> a (width * height), b, got (width * height);
  for (int x = 0; x < width; x++)
    a[x] = 64;
  size_t size = a.size () * sizeof (float);
  float *one, *two;
  cudaStream_t stream;
  cudaEvent_t start, end;
  CHECK (cudaStreamCreate (&stream));
  CHECK (cudaEventCreate (&start));
  CHECK (cudaEventCreate (&end));
  CHECK (cudaMalloc (&one, size));
  CHECK (cudaMalloc (&two, size));
  CHECK (cudaMemcpyToSymbol (weights, w, sizeof w));
  CHECK (cudaMemcpyAsync (one, a.data (), size, cudaMemcpyHostToDevice, stream));
  CHECK (cudaEventRecord (start, stream));
  for (int i = 0; i < steps; i++)
    {
      step<<<dim3 (3, 7), dim3 (32, 8), 0, stream>>> (one, two, width, height);
      std::swap (one, two);
    }
  CHECK (cudaEventRecord (end, stream));
  CHECK (cudaMemcpyAsync (got.data (), one, size, cudaMemcpyDeviceToHost, stream));
  CHECK (cudaStreamSynchronize (stream));
  float time = -1;
  CHECK (cudaEventElapsedTime (&time, start, end));
  for (int i = 0; i < steps; i++)
    {
      b = a;
      for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++)
          {
            int at = y * width + x;
            b[at] = w[0] * a[at] + w[1] * (a[at - 1] + a[at + 1] + a[at - width] + a[at + width]);
          }
      a = b;
    }
  for (size_t i = 0; i < a.size (); i++)
    if (!(got[i] - a[i] < 1e-4f && a[i] - got[i] < 1e-4f) || time < 0)
      {
        std::printf ("wrong: %g at %zu, not %g\n", got[i], i, a[i]);
        return 1;
      }
  std::printf ("stencil: %d steps on %d x %d points are right\n", steps, width, height);
}
