/* How soon z = z² + c escapes: a thread for each point; a warp ends with its slowest lane.  */
#include "mandelbrot.h"
#include "common.cuh"

__global__ void
draw_point (unsigned char *picture, int n)
{
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n)
    picture[y * n + x] = steps_until_escape (x, y, n);
}

static void
draw (unsigned char *picture, int n)
{
  unsigned char *device = device_array<unsigned char> (n * n);
  dim3 block (32, 8), grid ((n + 31) / 32, (n + 7) / 8);
  kernels_begin ();
  draw_point<<<grid, block>>> (device, n);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (picture, device, n * n);
  device_free ({ device });
}
