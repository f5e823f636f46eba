/* A kernel whose blocks take pieces of work from a queue, as a sample's Mandelbrot set does: one thread takes a number
   for all, and clang enters the loop at two places.  */
#include "check.h"

__device__ unsigned taken;

__global__ void
fill (int *to, int width, unsigned pieces)
{
  __shared__ unsigned piece, x, y;
  while (true)
    {
      if (threadIdx.x == 0 && threadIdx.y == 0)
        {
          piece = atomicAdd (&taken, 1) + 1000;
          x = (piece - 1000) % (width / blockDim.x);
          y = (piece - 1000) / (width / blockDim.x);
        }
      __syncthreads ();
      if (piece >= pieces + 1000)
        break;
      to[(y * blockDim.y + threadIdx.y) * width + x * blockDim.x + threadIdx.x] += piece;
      __syncthreads ();
    }
}

int
main ()
{
  const int width = 48, height = 24;
  const dim3 block (16, 8);
  int *d, got[width * height];
  CHECK (cudaMalloc (&d, sizeof got));
  CHECK (cudaMemset (d, 0, sizeof got));
  fill<<<3, block>>> (d, width, width * height / 128);
  CHECK (cudaMemcpy (got, d, sizeof got, cudaMemcpyDeviceToHost));
  for (int at = 0; at < width * height; at++)
    SAME (got[at], 1000 + at % width / 16 + at / width / 8 * (width / 16));
  unsigned last;
  CHECK (cudaMemcpyFromSymbol (&last, taken, sizeof last));
  SAME (last, width * height / 128 + 3u);
  CHECK (cudaFree (d));
  std::puts ("queue: right");
}
