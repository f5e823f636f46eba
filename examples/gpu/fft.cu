/* A Fourier transform: a kernel for each doubling, from one array into the other.  */
#include "fft.h"
#include "common.cuh"
#include <utility>

__global__ void
double_span (const float2 *from, float2 *to, const float2 *roots, int n, int span)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2)
    butterfly (from, to, roots, n, span, i);
}

static void
transform (float2 *numbers, const float2 *roots, int n)
{
  float2 *from = to_device (numbers, n), *to = device_array<float2> (n), *all_roots = to_device (roots, n / 2);
  kernels_begin ();
  for (int span = 1; span < n; span *= 2, std::swap (from, to))
    double_span<<<(n / 2 + 127) / 128, 128>>> (from, to, all_roots, n, span);
  WAIT_FOR_KERNELS ();
  kernels_end ();
  to_host (numbers, from, n);
  device_free ({ from, to, all_roots });
}
